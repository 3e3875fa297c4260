#include "model/weight_source.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

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

Status WeightSource::read_finite(const GgufTensor& tensor, std::uint64_t offset, std::span<std::byte> out) const {
  if (Status status = file_.read(tensor, offset, out); !status) return status;
  if (all_finite(tensor.type, out)) return {};
  return Error::invalid(tensor.name, "tensor " + tensor.name + ": holds a value that is not finite (NaN or infinity)");
}

Status WeightSource::read_piece(const Piece& piece, AlignedBuffer& buffer) const {
  const GgufTensor& tensor = *piece.target.tensor;
  if (!buffer.reserve(piece.bytes))
    return Error{ErrorCode::kResourceExhausted, "tensor " + tensor.name + ": no memory to read it", tensor.name};
  const std::span<std::byte> bytes(buffer.data(), piece.bytes);
  if (Status status = read_finite(tensor, piece.offset, bytes); !status) return status;
  if (piece.target.rows) piece.target.rows.put(piece.first_row, bytes);
  if (piece.target.values != nullptr)
    dequantise_row(tensor.type, bytes.data(), piece.target.values, static_cast<std::size_t>(tensor.elements));
  return {};
}

const Status& WeightSource::read() {
  if (pool_ == nullptr || !status_.ok()) return status_;
  const auto place = [](const Piece& piece) { return piece.target.tensor->file_offset + piece.offset; };
  std::sort(pieces_.begin(), pieces_.end(), [&](const Piece& a, const Piece& b) { return place(a) < place(b); });

  std::vector<AlignedBuffer> staging(static_cast<std::size_t>(pool_->threads()));
  std::atomic<std::size_t> failed{pieces_.size()};
  std::mutex mutex;
  // Items are handed out in ascending order, so all before the first failure are read.
  pool_->run(pieces_.size(), [&](std::size_t i, int worker) {
    if (i > failed.load(std::memory_order_relaxed)) return;
    Status status = read_piece(pieces_[i], staging[static_cast<std::size_t>(worker)]);
    const std::lock_guard lock(mutex);
    if (status.ok()) {
      count_read(pieces_[i].bytes);
    } else if (i < failed.load(std::memory_order_relaxed)) {
      failed.store(i, std::memory_order_relaxed);
      status_ = std::move(status);
    }
  });
  pieces_.clear();
  return status_;
}

void WeightSource::count_read(std::size_t bytes) {
  bytes_done_ += bytes;
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

PackedMatrix WeightSource::take_matrix(const GgufTensor& tensor, std::uint64_t offset, std::size_t outputs,
                                       std::size_t inputs) {
  auto matrix = make_matrix(tensor, offset, outputs, inputs);
  if (!matrix) {
    fail({matrix.error().code, "tensor " + tensor.name + ": " + matrix.error().message, tensor.name});
    return {};
  }
  Target target{&tensor, {}, nullptr};
  if (keep_ == Keep::kMatrices && matrix->in_memory()) target.rows = matrix->rows_to_put();
  const std::size_t row = row_bytes(tensor.type, inputs);
  const std::size_t rows = std::max<std::size_t>(1, kReadPiece / (row * kStripeRows)) * kStripeRows;
  for (std::size_t first = 0; first < outputs; first += rows)
    pieces_.push_back({target, offset + first * row, std::min(rows, outputs - first) * row, first});
  return std::move(*matrix);
}

Linear WeightSource::linear(const std::string& name, std::size_t outputs, std::size_t inputs) {
  Linear out;
  const GgufTensor* tensor = find(name + ".weight", {inputs, outputs});
  if (tensor == nullptr) return out;
  if (has(name + ".bias")) out.bias = vector(name + ".bias", outputs);
  memory_bytes_ += matrix_bytes(tensor->type, outputs, inputs);
  if (pool_ == nullptr || !status_.ok()) return out;
  out.weight = take_matrix(*tensor, 0, outputs, inputs);
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
    out[i].weight = take_matrix(*tensor, i * (tensor->bytes / count), outputs, inputs);
  return out;
}

std::vector<float> WeightSource::vector(const std::string& name, std::size_t size) {
  const GgufTensor* tensor = find(name, {size});
  if (tensor == nullptr) return {};
  memory_bytes_ += size * sizeof(float);
  if (pool_ == nullptr) return {};
  std::vector<float> out(size);
  pieces_.push_back({{tensor, {}, out.data()}, 0, static_cast<std::size_t>(tensor->bytes), 0});
  return out;
}

std::vector<float> WeightSource::vector_at_once(const std::string& name, std::size_t size) {
  if (!has(name)) return {};
  std::vector<float> out = vector(name, size);
  if (out.empty() || !status_.ok()) return out;
  const Piece piece = pieces_.back();
  pieces_.pop_back();
  AlignedBuffer buffer;
  if (Status status = read_piece(piece, buffer); !status) {
    fail(status.error());
    return {};
  }
  count_read(piece.bytes);
  return out;
}

}  // namespace takt
