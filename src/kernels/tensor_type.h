// The storage types a tensor can have in a GGUF file, with the ids the file uses, and their block geometry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace takt {

// Values as in a GGUF tensor description. The types below `kI8` that are not in this list have been withdrawn from the
// format.
enum class TensorType : std::uint32_t {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ8_1 = 9,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kQ8_K = 15,
  kIQ2_XXS = 16,
  kIQ2_XS = 17,
  kIQ3_XXS = 18,
  kIQ1_S = 19,
  kIQ4_NL = 20,
  kIQ3_S = 21,
  kIQ2_S = 22,
  kIQ4_XS = 23,
  kI8 = 24,
  kI16 = 25,
  kI32 = 26,
  kI64 = 27,
  kF64 = 28,
  kIQ1_M = 29,
  kBF16 = 30,
  kTQ1_0 = 34,
  kTQ2_0 = 35,
  kMXFP4 = 39,
  kNVFP4 = 40,
};

// A row is a whole number of blocks; a block holds block_elements values in block_bytes bytes.
struct TensorTypeInfo {
  TensorType type = TensorType::kF32;
  std::string_view name;
  std::uint32_t block_elements = 1;
  std::uint32_t block_bytes = 4;
  bool weights = false;  // dequantise_row knows it: matrices of this type can be computed with
};

// Empty for an id that is no type.
std::optional<TensorType> tensor_type_from_id(std::uint32_t id);

const TensorTypeInfo& tensor_type_info(TensorType type);

inline std::string_view tensor_type_name(TensorType type) {
  return tensor_type_info(type).name;
}

// Bytes of a row of `elements` values; `elements` is a multiple of block_elements.
inline std::size_t row_bytes(TensorType type, std::size_t elements) {
  const TensorTypeInfo& info = tensor_type_info(type);
  return elements / info.block_elements * info.block_bytes;
}

}  // namespace takt
