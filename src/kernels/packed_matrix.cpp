#include "kernels/packed_matrix.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "kernels/stripe_layout.h"

namespace takt {
namespace {

using Path = PackedMatrix::Path;

Path path_of(TensorType type) {
  switch (type) {
    case TensorType::kQ4_0:
      return Path::kQ4_0;
    case TensorType::kQ4_1:
      return Path::kQ4_1;
    case TensorType::kQ8_0:
      return Path::kQ8_0;
    case TensorType::kQ4_K:
      return Path::kQ4_K;
    case TensorType::kF32:
      return Path::kF32;
    case TensorType::kF16:
      return Path::kF16;
    case TensorType::kBF16:
      return Path::kBF16;
    default:
      return Path::kDequantise;
  }
}

std::uint8_t byte_at(const std::byte* p, std::size_t i) {
  return std::to_integer<std::uint8_t>(p[i]);
}

std::uint16_t word_at(const std::byte* p) {
  std::uint16_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// The 16 bytes of a block of 32 nibbles, low nibbles k = 0..15, high ones k = 16..31, as dwords of the lane's four
// lines.
void place_nibbles(const std::byte* bytes, std::size_t lane, std::uint8_t* lines) {
  for (std::size_t j = 0; j < kNibbleLines; ++j) std::memcpy(lines + j * kLineBytes + lane * 4, bytes + j * 4, 4);
}

void pack_q4_0(const std::byte* row, std::size_t blocks, std::size_t lane, std::byte* out) {
  constexpr std::size_t kFileBlock = 18;
  auto* stripe = reinterpret_cast<StripeQ4_0*>(out);
  for (std::size_t b = 0; b < blocks; ++b, row += kFileBlock) {
    stripe[b].scales[lane] = word_at(row);
    place_nibbles(row + 2, lane, stripe[b].lines);
  }
}

void pack_q4_1(const std::byte* row, std::size_t blocks, std::size_t lane, std::byte* out) {
  constexpr std::size_t kFileBlock = 20;
  auto* stripe = reinterpret_cast<StripeQ4_1*>(out);
  for (std::size_t b = 0; b < blocks; ++b, row += kFileBlock) {
    stripe[b].scales[lane] = word_at(row);
    stripe[b].mins[lane] = word_at(row + 2);
    place_nibbles(row + 4, lane, stripe[b].lines);
  }
}

void pack_q8_0(const std::byte* row, std::size_t blocks, std::size_t lane, std::byte* out) {
  constexpr std::size_t kFileBlock = 34;
  auto* stripe = reinterpret_cast<StripeQ8_0*>(out);
  for (std::size_t b = 0; b < blocks; ++b, row += kFileBlock) {
    stripe[b].scales[lane] = word_at(row);
    for (std::size_t j = 0; j < 8; ++j) std::memcpy(stripe[b].lines + j * kLineBytes + lane * 4, row + 2 + j * 4, 4);
  }
}

// Eight 6-bit scales and eight 6-bit mins in 12 bytes: the first four of each in the low bits of bytes 0..7, the others
// in nibbles of bytes 8..11 and the top bits of bytes 0..7.
struct SubScale {
  std::uint8_t scale;
  std::uint8_t min;
};
SubScale sub_scale(const std::byte* packed, std::size_t j) {
  if (j < 4)
    return {static_cast<std::uint8_t>(byte_at(packed, j) & 63), static_cast<std::uint8_t>(byte_at(packed, j + 4) & 63)};
  const std::uint8_t both = byte_at(packed, j + 4);
  return {static_cast<std::uint8_t>((both & 15) | ((byte_at(packed, j - 4) >> 6) << 4)),
          static_cast<std::uint8_t>((both >> 4) | ((byte_at(packed, j) >> 6) << 4))};
}

void pack_q4_k(const std::byte* row, std::size_t blocks, std::size_t lane, std::byte* out) {
  constexpr std::size_t kFileBlock = 144;
  auto* stripe = reinterpret_cast<StripeQ4_K*>(out);
  for (std::size_t b = 0; b < blocks; ++b, row += kFileBlock) {
    stripe[b].scales[lane] = word_at(row);
    stripe[b].mins[lane] = word_at(row + 2);
    for (std::size_t j = 0; j < 8; ++j) {
      const SubScale sub = sub_scale(row + 4, j);
      stripe[b].sub_scales[j][lane] = sub.scale;
      stripe[b].sub_mins[j / 2][lane][j % 2] = sub.min;
      // In the file 32 bytes hold two sub-blocks: the even one in the low nibbles.
      const std::byte* nibbles = row + 16 + j / 2 * 32;
      const unsigned shift = j % 2 * 4;
      std::byte together[16];
      for (std::size_t k = 0; k < 16; ++k) {
        const unsigned low = (byte_at(nibbles, k) >> shift) & 15U;
        const unsigned high = (byte_at(nibbles, k + 16) >> shift) & 15U;
        together[k] = static_cast<std::byte>(low | (high << 4U));
      }
      place_nibbles(together, lane, stripe[b].lines[j]);
    }
  }
}

template <typename Word>
void pack_plain(const std::byte* row, std::size_t cols, std::size_t lane, std::byte* out) {
  for (std::size_t k = 0; k < cols; ++k)
    std::memcpy(out + (k * kLanes + lane) * sizeof(Word), row + k * sizeof(Word), sizeof(Word));
}

void pack_row(Path path, const std::byte* row, std::size_t cols, std::size_t lane, std::byte* stripe) {
  switch (path) {
    case Path::kQ4_0:
      return pack_q4_0(row, cols / kActivationBlock, lane, stripe);
    case Path::kQ4_1:
      return pack_q4_1(row, cols / kActivationBlock, lane, stripe);
    case Path::kQ8_0:
      return pack_q8_0(row, cols / kActivationBlock, lane, stripe);
    case Path::kQ4_K:
      return pack_q4_k(row, cols / kSuperBlock, lane, stripe);
    case Path::kF32:
      return pack_plain<float>(row, cols, lane, stripe);
    case Path::kF16:
    case Path::kBF16:
      return pack_plain<std::uint16_t>(row, cols, lane, stripe);
    case Path::kDequantise:
      return;
  }
}

void take_nibbles(const std::uint8_t* lines, std::size_t lane, std::byte* bytes) {
  for (std::size_t j = 0; j < kNibbleLines; ++j) std::memcpy(bytes + j * 4, lines + j * kLineBytes + lane * 4, 4);
}

void unpack_block(const StripeQ4_0& block, std::size_t lane, std::byte* out) {
  std::memcpy(out, &block.scales[lane], 2);
  take_nibbles(block.lines, lane, out + 2);
}

void unpack_block(const StripeQ4_1& block, std::size_t lane, std::byte* out) {
  std::memcpy(out, &block.scales[lane], 2);
  std::memcpy(out + 2, &block.mins[lane], 2);
  take_nibbles(block.lines, lane, out + 4);
}

void unpack_block(const StripeQ8_0& block, std::size_t lane, std::byte* out) {
  std::memcpy(out, &block.scales[lane], 2);
  for (std::size_t j = 0; j < 8; ++j) std::memcpy(out + 2 + j * 4, block.lines + j * kLineBytes + lane * 4, 4);
}

void unpack_block(const StripeQ4_K& block, std::size_t lane, std::byte* out) {
  std::memcpy(out, &block.scales[lane], 2);
  std::memcpy(out + 2, &block.mins[lane], 2);
  const auto scale = [&](std::size_t j) -> unsigned { return block.sub_scales[j][lane]; };
  const auto min = [&](std::size_t j) -> unsigned { return block.sub_mins[j / 2][lane][j % 2]; };
  for (std::size_t j = 0; j < 4; ++j) {
    out[4 + j] = static_cast<std::byte>(scale(j) | (scale(j + 4) >> 4U << 6U));
    out[8 + j] = static_cast<std::byte>(min(j) | (min(j + 4) >> 4U << 6U));
    out[12 + j] = static_cast<std::byte>((scale(j + 4) & 15U) | ((min(j + 4) & 15U) << 4U));
  }
  for (std::size_t pair = 0; pair < 4; ++pair) {
    std::byte even[16];
    std::byte odd[16];
    take_nibbles(block.lines[2 * pair], lane, even);
    take_nibbles(block.lines[2 * pair + 1], lane, odd);
    std::byte* nibbles = out + 16 + pair * 32;
    for (std::size_t k = 0; k < 16; ++k) {
      nibbles[k] = (even[k] & std::byte{15}) | (odd[k] << 4U);
      nibbles[k + 16] = (even[k] >> 4U) | (odd[k] & std::byte{0xF0});
    }
  }
}

template <typename Block>
void unpack_blocks(const std::byte* stripe, std::size_t lane, std::size_t first, std::size_t count,
                   std::size_t file_block, std::byte* out) {
  const auto* blocks = reinterpret_cast<const Block*>(stripe);
  for (std::size_t b = 0; b < count; ++b) unpack_block(blocks[first + b], lane, out + b * file_block);
}

template <typename Word>
void unpack_plain(const std::byte* stripe, std::size_t lane, std::size_t first, std::size_t count, std::byte* out) {
  for (std::size_t k = 0; k < count; ++k)
    std::memcpy(out + k * sizeof(Word), stripe + ((first + k) * kLanes + lane) * sizeof(Word), sizeof(Word));
}

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

Result<PackedMatrix> PackedMatrix::pack(TensorType type, std::span<const std::byte> data, std::size_t rows,
                                        std::size_t cols, ThreadPool& pool) {
  if (Status status = check_shape(type, data.size(), rows, cols); !status) return status.error();
  PackedMatrix matrix;
  matrix.type_ = type;
  matrix.path_ = path_of(type);
  matrix.rows_ = rows;
  matrix.cols_ = cols;
  if (matrix.path_ == Path::kDequantise) {
    matrix.file_ = data;
    return matrix;
  }
  const std::size_t bytes = matrix.stripe_bytes() * matrix.stripes();
  if (!matrix.packed_.reserve(bytes))
    return Error{ErrorCode::kResourceExhausted, "no memory for " + std::to_string(bytes) + " bytes of weights", {}};
  pool.run(matrix.stripes(), [&](std::size_t stripe, int) {
    std::byte* out = matrix.packed_.data() + stripe * matrix.stripe_bytes();
    for (std::size_t lane = 0; lane < kLanes && stripe * kLanes + lane < rows; ++lane) {
      pack_row(matrix.path_, data.data() + (stripe * kLanes + lane) * row_bytes(type, cols), cols, lane, out);
    }
  });
  return matrix;
}

void PackedMatrix::unpack(std::size_t row, std::size_t first, std::size_t count, std::byte* out) const {
  const std::byte* packed = stripe(row / kLanes);
  const std::size_t lane = row % kLanes;
  const TensorTypeInfo& info = tensor_type_info(type_);
  const std::size_t block = first / info.block_elements;
  const std::size_t blocks = count / info.block_elements;
  switch (path_) {
    case Path::kQ4_0:
      return unpack_blocks<StripeQ4_0>(packed, lane, block, blocks, info.block_bytes, out);
    case Path::kQ4_1:
      return unpack_blocks<StripeQ4_1>(packed, lane, block, blocks, info.block_bytes, out);
    case Path::kQ8_0:
      return unpack_blocks<StripeQ8_0>(packed, lane, block, blocks, info.block_bytes, out);
    case Path::kQ4_K:
      return unpack_blocks<StripeQ4_K>(packed, lane, block, blocks, info.block_bytes, out);
    case Path::kF32:
      return unpack_plain<float>(packed, lane, first, count, out);
    case Path::kF16:
    case Path::kBF16:
      return unpack_plain<std::uint16_t>(packed, lane, first, count, out);
    case Path::kDequantise:
      std::memcpy(out, file_row(row) + row_bytes(type_, first), row_bytes(type_, count));
      return;
  }
}

ActivationFormats PackedMatrix::activation_formats() const {
  switch (path_) {
    case Path::kQ4_0:
    case Path::kQ4_1:
    case Path::kQ8_0:
      return ActivationFormats::kBlock32;
    case Path::kQ4_K:
      return ActivationFormats::kBlock256;
    default:
      return ActivationFormats::kNone;
  }
}

std::size_t PackedMatrix::stripes() const {
  return (rows_ + kLanes - 1) / kLanes;
}

std::size_t PackedMatrix::stripe_bytes() const {
  switch (path_) {
    case Path::kQ4_0:
      return cols_ / kActivationBlock * sizeof(StripeQ4_0);
    case Path::kQ4_1:
      return cols_ / kActivationBlock * sizeof(StripeQ4_1);
    case Path::kQ8_0:
      return cols_ / kActivationBlock * sizeof(StripeQ8_0);
    case Path::kQ4_K:
      return cols_ / kSuperBlock * sizeof(StripeQ4_K);
    case Path::kF32:
      return cols_ * kLanes * sizeof(float);
    case Path::kF16:
    case Path::kBF16:
      return cols_ * kLanes * sizeof(std::uint16_t);
    case Path::kDequantise:
      return 0;
  }
  return 0;
}

std::size_t PackedMatrix::read_bytes() const {
  return path_ == Path::kDequantise ? file_.size() : stripe_bytes() * stripes();
}

}  // namespace takt
