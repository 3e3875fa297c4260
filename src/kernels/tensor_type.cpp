#include "kernels/tensor_type.h"

#include <array>

namespace takt {
namespace {

using enum TensorType;

constexpr std::array kTypes{
    TensorTypeInfo{kF32, "F32", 1, 4, true},
    TensorTypeInfo{kF16, "F16", 1, 2, true},
    TensorTypeInfo{kQ4_0, "Q4_0", 32, 18, true},
    TensorTypeInfo{kQ4_1, "Q4_1", 32, 20, true},
    TensorTypeInfo{kQ5_0, "Q5_0", 32, 22, true},
    TensorTypeInfo{kQ5_1, "Q5_1", 32, 24, true},
    TensorTypeInfo{kQ8_0, "Q8_0", 32, 34, true},
    TensorTypeInfo{kQ8_1, "Q8_1", 32, 36, false},
    TensorTypeInfo{kQ2_K, "Q2_K", 256, 84, true},
    TensorTypeInfo{kQ3_K, "Q3_K", 256, 110, true},
    TensorTypeInfo{kQ4_K, "Q4_K", 256, 144, true},
    TensorTypeInfo{kQ5_K, "Q5_K", 256, 176, true},
    TensorTypeInfo{kQ6_K, "Q6_K", 256, 210, true},
    TensorTypeInfo{kQ8_K, "Q8_K", 256, 292, false},
    TensorTypeInfo{kIQ2_XXS, "IQ2_XXS", 256, 66, false},
    TensorTypeInfo{kIQ2_XS, "IQ2_XS", 256, 74, false},
    TensorTypeInfo{kIQ3_XXS, "IQ3_XXS", 256, 98, false},
    TensorTypeInfo{kIQ1_S, "IQ1_S", 256, 50, false},
    TensorTypeInfo{kIQ4_NL, "IQ4_NL", 32, 18, true},
    TensorTypeInfo{kIQ3_S, "IQ3_S", 256, 110, false},
    TensorTypeInfo{kIQ2_S, "IQ2_S", 256, 82, false},
    TensorTypeInfo{kIQ4_XS, "IQ4_XS", 256, 136, true},
    TensorTypeInfo{kI8, "I8", 1, 1, false},
    TensorTypeInfo{kI16, "I16", 1, 2, false},
    TensorTypeInfo{kI32, "I32", 1, 4, false},
    TensorTypeInfo{kI64, "I64", 1, 8, false},
    TensorTypeInfo{kF64, "F64", 1, 8, false},
    TensorTypeInfo{kIQ1_M, "IQ1_M", 256, 56, false},
    TensorTypeInfo{kBF16, "BF16", 1, 2, true},
    TensorTypeInfo{kTQ1_0, "TQ1_0", 256, 54, false},
    TensorTypeInfo{kTQ2_0, "TQ2_0", 256, 66, false},
    TensorTypeInfo{kMXFP4, "MXFP4", 32, 17, false},
    TensorTypeInfo{kNVFP4, "NVFP4", 64, 36, false},
};

const TensorTypeInfo* find(TensorType type) {
  for (const TensorTypeInfo& info : kTypes) {
    if (info.type == type) return &info;
  }
  return nullptr;
}

}  // namespace

std::optional<TensorType> tensor_type_from_id(std::uint32_t id) {
  const auto type = static_cast<TensorType>(id);
  if (find(type) == nullptr) return std::nullopt;
  return type;
}

const TensorTypeInfo& tensor_type_info(TensorType type) {
  const TensorTypeInfo* info = find(type);
  return info != nullptr ? *info : kTypes.front();
}

}  // namespace takt
