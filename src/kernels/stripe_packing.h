// Between a file's blocks and the stripes that kernels read, one row (lane) at a time. Lossless: what is packed can be
// unpacked to the same bytes.
#pragma once

#include <cstddef>

#include "kernels/tensor_type.h"

namespace takt {

// The packed form of a tensor type. stripe_block_bytes: of one block of 16 rows.
struct StripeFormat {
  TensorType type = TensorType::kF32;
  std::size_t stripe_block_bytes = 0;
  // Puts `blocks` blocks of a row into the stripe's lane.
  void (*pack)(const std::byte* row, std::size_t blocks, std::size_t lane, std::byte* stripe) = nullptr;
  // Takes `blocks` blocks from block `first` on out of it again.
  void (*unpack)(const std::byte* stripe, std::size_t lane, std::size_t first, std::size_t blocks,
                 std::byte* row) = nullptr;
};

// Null for a type that has no packed form.
const StripeFormat* stripe_format(TensorType type);

}  // namespace takt
