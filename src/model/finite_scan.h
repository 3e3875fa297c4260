// Finds NaN and infinity in weights without dequantising them: a quantised value is not finite only where a scale of
// its block is not.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/tensor_type.h"

namespace takt {

// `data` holds whole blocks of `type`, one of the types with TensorTypeInfo::weights.
bool all_finite(TensorType type, std::span<const std::byte> data);

}  // namespace takt
