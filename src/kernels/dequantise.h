// Quantised weights -> F32, the reference for every kernel: the value a file's block stands for, bit for bit as the
// format's reference code has it (ggml-quants of llama.cpp; block layouts in docs/numerics.md). Scalar; used by the
// embedding lookup, the products of types without a packed form, and tests.
#pragma once

#include <cstddef>

#include "kernels/tensor_type.h"

namespace takt {

// Writes n values. `data` holds row_bytes(type, n) bytes, at any alignment; n is a multiple of the type's
// block_elements. False, and nothing written, when the type is none that weights may have (TensorTypeInfo::weights).
bool dequantise_row(TensorType type, const std::byte* data, float* out, std::size_t n);

}  // namespace takt
