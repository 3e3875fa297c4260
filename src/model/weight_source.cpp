#include "model/weight_source.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "kernels/dequantise.h"
#include "model/finite_scan.h"

namespace takt {
namespace {

constexpr std::size_t kReadPiece = 4U << 20U;
constexpr std::size_t kStripeRows = 16;  // matrices are padded to whole stripes when they are repacked

std::string describe(const std::vector<std::uint64_t>& shape) {
  std::string out;
  for (const std::uint64_t extent : shape) out += (out.empty() ? "" : " x ") + std::to_string(extent);
  return out;
}

std::size_t packed_bytes(TensorType type, std::size_t outputs, std::size_t inputs) {
  return (outputs + kStripeRows - 1) / kStripeRows * kStripeRows * row_bytes(type, inputs);
}

}  // namespace

void WeightSource::fail(Error error) {
  if (status_.ok()) status_ = std::move(error);
}

const GgufTensor* WeightSource::find(const std::string& name, const std::vector<std::uint64_t>& shape) {
  if (!status_.ok()) return nullptr;
  const GgufTensor* tensor = file_.find_tensor(name);
  if (tensor == nullptr) {
    fail(Error::invalid(name, "tensor " + name + ": missing"));
    return nullptr;
  }
  if (tensor->shape != shape) {
    fail(Error::invalid(
        name, "tensor " + name + ": has the shape " + describe(tensor->shape) + ", expected " + describe(shape)));
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

bool WeightSource::read(const GgufTensor& tensor, AlignedBuffer& out) {
  if (!out.reserve(tensor.bytes)) {
    fail({ErrorCode::kResourceExhausted,
          "tensor " + tensor.name + ": no memory for its " + std::to_string(tensor.bytes) + " bytes", tensor.name});
    return false;
  }
  std::mutex mutex;
  pool_->run((tensor.bytes + kReadPiece - 1) / kReadPiece, [&](std::size_t piece, int) {
    const std::size_t first = piece * kReadPiece;
    const std::size_t count = std::min<std::size_t>(kReadPiece, tensor.bytes - first);
    if (Status status = file_.read(tensor, first, {out.data() + first, count}); !status) {
      std::lock_guard lock(mutex);
      fail(status.error());
    }
  });
  if (!status_.ok()) return false;
  if (!all_finite(tensor.type, {out.data(), tensor.bytes}, *pool_)) {
    fail(Error::invalid(tensor.name, "tensor " + tensor.name + ": holds a value that is not finite (NaN or infinity)"));
    return false;
  }
  bytes_done_ += tensor.bytes;
  if (progress_) progress_(bytes_done_, bytes_total_);
  return true;
}

bool WeightSource::pack(const GgufTensor& tensor, std::span<const std::byte> bytes, Linear& out) {
  const std::size_t outputs = tensor.shape[1];
  const std::size_t inputs = tensor.shape[0];
  auto packed = PackedMatrix::pack(tensor.type, bytes, outputs, inputs, *pool_);
  if (!packed) {
    fail({packed.error().code, "tensor " + tensor.name + ": " + packed.error().message, tensor.name});
    return false;
  }
  out.weight = std::move(*packed);
  if (out.weight.owned_bytes() > 0) return true;
  // The matrix refers to the bytes it was given: give it bytes that stay.
  if (!out.file_bytes.reserve(bytes.size())) {
    fail({ErrorCode::kResourceExhausted, "tensor " + tensor.name + ": no memory for its weights", tensor.name});
    return false;
  }
  std::memcpy(out.file_bytes.data(), bytes.data(), bytes.size());
  auto again = PackedMatrix::pack(tensor.type, {out.file_bytes.data(), bytes.size()}, outputs, inputs, *pool_);
  if (!again) {
    fail(again.error());
    return false;
  }
  out.weight = std::move(*again);
  return true;
}

Linear WeightSource::linear(const std::string& name, std::size_t outputs, std::size_t inputs) {
  Linear out;
  const GgufTensor* tensor = find(name + ".weight", {inputs, outputs});
  if (tensor == nullptr) return out;
  out.bias = optional_vector(name + ".bias", outputs);
  memory_bytes_ += packed_bytes(tensor->type, outputs, inputs);
  if (pool_ == nullptr || !read(*tensor, staging_) || !keep_) return out;
  pack(*tensor, {staging_.data(), tensor->bytes}, out);
  return out;
}

std::vector<Linear> WeightSource::linears(const std::string& name, std::size_t count, std::size_t outputs,
                                          std::size_t inputs) {
  std::vector<Linear> out;
  const GgufTensor* tensor = find(name + ".weight", {inputs, outputs, count});
  if (tensor == nullptr) return out;
  memory_bytes_ += count * packed_bytes(tensor->type, outputs, inputs);
  if (pool_ == nullptr || !read(*tensor, staging_) || !keep_) return out;
  const std::size_t bytes = tensor->bytes / count;
  out.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!pack(*tensor, {staging_.data() + i * bytes, bytes}, out[i])) break;
  }
  return out;
}

std::vector<float> WeightSource::vector(const std::string& name, std::size_t size) {
  const GgufTensor* tensor = find(name, {size});
  if (tensor == nullptr) return {};
  memory_bytes_ += size * sizeof(float);
  if (pool_ == nullptr || !read(*tensor, staging_) || !keep_) return {};
  std::vector<float> out(size);
  dequantise_row(tensor->type, staging_.data(), out.data(), size);
  return out;
}

std::vector<float> WeightSource::optional_vector(const std::string& name, std::size_t size) {
  return has(name) ? vector(name, size) : std::vector<float>();
}

}  // namespace takt
