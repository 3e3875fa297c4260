#include "kernels/packed_matrix.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "kernels/numerics.h"

namespace takt {
namespace {

Status check_shape(TensorType type, std::size_t bytes, std::size_t rows, std::size_t cols) {
  const TensorTypeInfo& info = tensor_type_info(type);
  if (!info.weights)
    return Error::invalid("tensor type", "a matrix of type " + std::string(info.name) + " cannot be computed with");
  if (rows == 0 || cols == 0)
    return Error::invalid("tensor shape", "a weight matrix needs at least one row and one column");
  if (cols % info.block_elements != 0) {
    return Error::invalid("tensor shape", "rows of type " + std::string(info.name) + " hold whole blocks of " +
                                              std::to_string(info.block_elements) + " values, not " +
                                              std::to_string(cols));
  }
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() / 64;  // leaves room for padding
  if (rows > kMost / cols || row_bytes(type, cols) * rows != bytes) {
    return Error::invalid("tensor data", "the matrix needs " + std::to_string(rows) + " rows of " +
                                             std::to_string(row_bytes(type, cols)) + " bytes, but has " +
                                             std::to_string(bytes) + " bytes");
  }
  return {};
}

}  // namespace

Result<PackedMatrix> PackedMatrix::describe(TensorType type, std::size_t bytes, std::size_t rows, std::size_t cols) {
  if (Status status = check_shape(type, bytes, rows, cols); !status) return status.error();
  PackedMatrix matrix;
  matrix.type_ = type;
  matrix.format_ = stripe_format(type);
  matrix.rows_ = rows;
  matrix.cols_ = cols;
  return matrix;
}

Result<PackedMatrix> PackedMatrix::prepare(TensorType type, std::size_t bytes, std::size_t rows, std::size_t cols) {
  auto matrix = describe(type, bytes, rows, cols);
  if (!matrix) return matrix;
  const std::size_t memory = matrix->read_bytes();
  if (!matrix->memory_.reserve(memory))
    return Error{ErrorCode::kResourceExhausted, "no memory for " + std::to_string(memory) + " bytes of weights", {}};
  return matrix;
}

Result<PackedMatrix> PackedMatrix::refer(TensorType type, std::size_t bytes, std::size_t rows, std::size_t cols,
                                         std::shared_ptr<const StoredRows> stored) {
  auto matrix = describe(type, bytes, rows, cols);
  if (matrix) matrix->stored_ = std::move(stored);
  return matrix;
}

void PackedRows::put(std::size_t first, std::span<const std::byte> data) const {
  if (format_ == nullptr) {
    std::memcpy(memory_ + first * row_bytes_, data.data(), data.size());
    return;
  }
  for (std::size_t i = 0; i < data.size() / row_bytes_; ++i) {
    std::byte* out = memory_ + (first + i) / kLanes * stripe_bytes_;
    format_->pack(data.data() + i * row_bytes_, blocks_, (first + i) % kLanes, out);
  }
}

PackedRows PackedMatrix::rows_to_put() {
  PackedRows rows;
  rows.memory_ = memory_.data();
  rows.format_ = format_;
  rows.row_bytes_ = row_bytes(type_, cols_);
  rows.blocks_ = blocks();
  rows.stripe_bytes_ = stripe_bytes();
  return rows;
}

Result<PackedMatrix> PackedMatrix::pack(TensorType type, std::span<const std::byte> data, std::size_t rows,
                                        std::size_t cols, ThreadPool& pool) {
  auto matrix = prepare(type, data.size(), rows, cols);
  if (!matrix) return matrix;
  const std::size_t bytes = row_bytes(type, cols);
  const PackedRows to = matrix->rows_to_put();
  pool.run(matrix->stripes(), [&](std::size_t stripe, int) {
    const std::size_t first = stripe * kLanes;
    to.put(first, data.subspan(first * bytes, std::min(kLanes, rows - first) * bytes));
  });
  return matrix;
}

Status PackedMatrix::read_stripe(std::size_t i, AlignedBuffer& scratch) const {
  const std::size_t bytes = row_bytes(type_, cols_);
  const std::size_t packed = format_ == nullptr ? 0 : stripe_bytes();
  const std::size_t count = std::min(kLanes, rows_ - i * kLanes);
  if (!scratch.reserve(packed + kLanes * bytes))
    return Error{ErrorCode::kResourceExhausted, "no memory for 16 rows of weights", {}};
  std::byte* rows = scratch.data() + packed;
  if (Status status = stored_->read(i * kLanes * bytes, {rows, count * bytes}); !status) return status;
  if (format_ == nullptr) return {};
  if (count < kLanes) std::memset(scratch.data(), 0, packed);
  for (std::size_t lane = 0; lane < count; ++lane) format_->pack(rows + lane * bytes, blocks(), lane, scratch.data());
  return {};
}

Status PackedMatrix::unpack(std::size_t row, std::size_t first, std::size_t count, std::byte* out) const {
  const std::size_t start = row * row_bytes(type_, cols_) + row_bytes(type_, first);
  if (!in_memory()) return stored_->read(start, {out, row_bytes(type_, count)});
  if (format_ == nullptr) {
    std::memcpy(out, memory_.data() + start, row_bytes(type_, count));
    return {};
  }
  const std::size_t block = tensor_type_info(type_).block_elements;
  format_->unpack(stripe(row / kLanes), row % kLanes, first / block, count / block, out);
  return {};
}

ActivationFormats PackedMatrix::activation_formats() const {
  if (format_ == nullptr || tensor_type_info(type_).block_elements == 1) return ActivationFormats::kNone;
  return ActivationFormats::kBlock32;
}

std::size_t PackedMatrix::blocks() const {
  return cols_ / tensor_type_info(type_).block_elements;
}

std::size_t PackedMatrix::stripes() const {
  return (rows_ + kLanes - 1) / kLanes;
}

std::size_t PackedMatrix::stripe_bytes() const {
  return format_ == nullptr ? kLanes * row_bytes(type_, cols_) : blocks() * format_->stripe_block_bytes;
}

std::size_t PackedMatrix::read_bytes() const {
  return format_ == nullptr ? row_bytes(type_, cols_) * rows_ : stripe_bytes() * stripes();
}

}  // namespace takt
