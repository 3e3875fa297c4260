#include "model/finite_scan.h"

#include <cstdint>
#include <cstring>

namespace takt {
namespace {

// Where the half floats of a block lie; for unquantised types the value itself.
struct FloatFields {
  std::uint32_t exponent_mask = 0x7C00;
  std::size_t width = 2;
  std::size_t first = 0;
  std::size_t count = 1;  // neighbours
};

FloatFields float_fields(TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return {0x7F800000U, 4, 0, 1};
    case TensorType::kBF16:
      return {0x7F80U, 2, 0, 1};
    case TensorType::kQ4_1:
    case TensorType::kQ5_1:
    case TensorType::kQ4_K:
    case TensorType::kQ5_K:
      return {0x7C00U, 2, 0, 2};
    case TensorType::kQ2_K:
      return {0x7C00U, 2, 80, 2};
    case TensorType::kQ3_K:
      return {0x7C00U, 2, 108, 1};
    case TensorType::kQ6_K:
      return {0x7C00U, 2, 208, 1};
    default:
      return {};  // F16, and the scale at the front
  }
}

template <typename Word>
bool fields_finite(const std::byte* data, std::size_t blocks, std::size_t block_bytes, const FloatFields& fields) {
  const auto mask = static_cast<Word>(fields.exponent_mask);
  bool finite = true;
  for (std::size_t block = 0; block < blocks; ++block) {
    for (std::size_t i = 0; i < fields.count; ++i) {
      Word word;
      std::memcpy(&word, data + block * block_bytes + fields.first + i * sizeof(Word), sizeof word);
      finite &= static_cast<Word>(word & mask) != mask;
    }
  }
  return finite;
}

}  // namespace

bool all_finite(TensorType type, std::span<const std::byte> data) {
  const std::size_t block_bytes = tensor_type_info(type).block_bytes;
  const std::size_t blocks = data.size() / block_bytes;
  const FloatFields fields = float_fields(type);
  return fields.width == 4 ? fields_finite<std::uint32_t>(data.data(), blocks, block_bytes, fields)
                           : fields_finite<std::uint16_t>(data.data(), blocks, block_bytes, fields);
}

}  // namespace takt
