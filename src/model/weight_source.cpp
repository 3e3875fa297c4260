#include "model/weight_source.h"

#include <algorithm>
#include <mutex>

#include "kernels/dequantise.h"
#include "model/finite_scan.h"

namespace takt {
namespace {

constexpr std::size_t kReadPiece = 512U << 10U;  // stays in a core's cache between reading and repacking
constexpr std::size_t kStripeRows = 16;          // matrices are padded to whole stripes when they are repacked

std::string describe(const std::vector<std::uint64_t>& shape) {
  std::string out;
  for (const std::uint64_t extent : shape) out += (out.empty() ? "" : " x ") + std::to_string(extent);
  return out;
}

class FileRows final : public StoredRows {
 public:
  FileRows(std::shared_ptr<const ByteSource> source, std::string tensor, std::uint64_t start)
      : source_(std::move(source)), tensor_(std::move(tensor)), start_(start) {}

  Status read(std::size_t offset, std::span<std::byte> out) const override {
    Status status = source_->read(start_ + offset, out);
    if (status.ok()) return status;
    Error error = status.error();
    error.message = "tensor " + tensor_ + ": " + error.message;
    error.field = tensor_;
    return error;
  }

 private:
  std::shared_ptr<const ByteSource> source_;
  std::string tensor_;
  std::uint64_t start_;
};

}  // namespace

void WeightSource::fail(Error error) {
  if (status_.ok()) status_ = std::move(error);
}

void WeightSource::refuse(const std::string& tensor, const std::string& message) {
  fail(Error::invalid(tensor, "tensor " + tensor + ": " + message));
}

const GgufTensor* WeightSource::find(const std::string& name, const std::vector<std::uint64_t>& shape) {
  if (!status_.ok()) return nullptr;
  const GgufTensor* tensor = file_.find_tensor(name);
  if (tensor == nullptr) {
    refuse(name, "missing");
    return nullptr;
  }
  if (tensor->shape != shape) {
    refuse(name, "has the shape " + describe(tensor->shape) + ", expected " + describe(shape));
    return nullptr;
  }
  if (!tensor_type_info(tensor->type).weights) {
    fail({ErrorCode::kUnsupported,
          "tensor " + name + ": weights of type " + std::string(tensor_type_name(tensor->type)) +
              " are not supported yet",
          name});
    return nullptr;
  }
  return tensor;
}

Status WeightSource::read_piece(const GgufTensor& tensor, std::uint64_t offset, std::span<std::byte> out) const {
  if (Status status = file_.read(tensor, offset, out); !status) return status;
  if (all_finite(tensor.type, out)) return {};
  return Error::invalid(tensor.name, "tensor " + tensor.name + ": holds a value that is not finite (NaN or infinity)");
}

void WeightSource::count_read(const GgufTensor& tensor) {
  bytes_done_ += tensor.bytes;
  if (progress_) progress_(bytes_done_, bytes_total_);
}

Result<PackedMatrix> WeightSource::make_matrix(const GgufTensor& tensor, std::uint64_t offset, std::size_t outputs,
                                               std::size_t inputs) const {
  const std::size_t bytes = row_bytes(tensor.type, inputs) * outputs;
  if (keep_ == Keep::kNothing) return PackedMatrix();
  if (place_ == WeightPlace::kMemory) return PackedMatrix::prepare(tensor.type, bytes, outputs, inputs);
  return PackedMatrix::refer(tensor.type, bytes, outputs, inputs,
                             std::make_shared<FileRows>(file_.source(), tensor.name, tensor.file_offset + offset));
}

std::size_t WeightSource::matrix_bytes(TensorType type, std::size_t outputs, std::size_t inputs) const {
  if (place_ == WeightPlace::kFile) return 0;
  return (outputs + kStripeRows - 1) / kStripeRows * kStripeRows * row_bytes(type, inputs);
}

PackedMatrix WeightSource::read_matrix(const GgufTensor& tensor, std::uint64_t offset, std::size_t outputs,
                                       std::size_t inputs) {
  const std::size_t row = row_bytes(tensor.type, inputs);
  auto matrix = make_matrix(tensor, offset, outputs, inputs);
  if (!matrix) {
    fail({matrix.error().code, "tensor " + tensor.name + ": " + matrix.error().message, tensor.name});
    return {};
  }
  const std::size_t rows = std::max<std::size_t>(1, kReadPiece / (row * kStripeRows)) * kStripeRows;
  staging_.resize(static_cast<std::size_t>(pool_->threads()));
  std::mutex mutex;
  pool_->run((outputs + rows - 1) / rows, [&](std::size_t piece, int worker) {
    AlignedBuffer& buffer = staging_[static_cast<std::size_t>(worker)];
    const std::size_t first = piece * rows;
    const std::size_t bytes = std::min(rows, outputs - first) * row;
    Status status = Error{ErrorCode::kResourceExhausted, "tensor " + tensor.name + ": no memory to read it", {}};
    if (buffer.reserve(bytes)) status = read_piece(tensor, offset + first * row, {buffer.data(), bytes});
    if (status.ok()) {
      if (keep_ == Keep::kMatrices && matrix->in_memory()) matrix->put_rows(first, {buffer.data(), bytes});
      return;
    }
    std::lock_guard lock(mutex);
    fail(status.error());
  });
  return std::move(*matrix);
}

Linear WeightSource::linear(const std::string& name, std::size_t outputs, std::size_t inputs) {
  Linear out;
  const GgufTensor* tensor = find(name + ".weight", {inputs, outputs});
  if (tensor == nullptr) return out;
  out.bias = optional_vector(name + ".bias", outputs);
  memory_bytes_ += matrix_bytes(tensor->type, outputs, inputs);
  if (pool_ == nullptr || !status_.ok()) return out;
  out.weight = read_matrix(*tensor, 0, outputs, inputs);
  count_read(*tensor);
  return out;
}

std::vector<Linear> WeightSource::linears(const std::string& name, std::size_t count, std::size_t outputs,
                                          std::size_t inputs) {
  std::vector<Linear> out;
  const GgufTensor* tensor = find(name + ".weight", {inputs, outputs, count});
  if (tensor == nullptr) return out;
  memory_bytes_ += count * matrix_bytes(tensor->type, outputs, inputs);
  if (pool_ == nullptr) return out;
  out.resize(count);
  for (std::size_t i = 0; i < count && status_.ok(); ++i)
    out[i].weight = read_matrix(*tensor, i * (tensor->bytes / count), outputs, inputs);
  count_read(*tensor);
  return out;
}

std::vector<float> WeightSource::vector(const std::string& name, std::size_t size) {
  const GgufTensor* tensor = find(name, {size});
  if (tensor == nullptr) return {};
  memory_bytes_ += size * sizeof(float);
  if (pool_ == nullptr) return {};
  std::vector<std::byte> bytes(tensor->bytes);
  if (Status status = read_piece(*tensor, 0, bytes); !status) {
    fail(status.error());
    return {};
  }
  count_read(*tensor);
  std::vector<float> out(size);
  dequantise_row(tensor->type, bytes.data(), out.data(), size);
  return out;
}

std::vector<float> WeightSource::optional_vector(const std::string& name, std::size_t size) {
  return has(name) ? vector(name, size) : std::vector<float>();
}

}  // namespace takt
