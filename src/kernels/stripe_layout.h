// How packed weights lie in memory. A stripe is 16 output rows (the lanes); along K it is one sequential stream of
// blocks. The layout is the same for all instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/numerics.h"

namespace takt {

inline constexpr std::size_t kLineBytes = 64;  // one dword per lane

// 32 k of nibbles: four lines; in line j, dword `lane`, byte b: low nibble k = 4j + b, high nibble k = 16 + 4j + b.
inline constexpr std::size_t kNibbleLines = 4;

struct StripeQ4_0 {
  std::uint16_t scales[kLanes];  // half floats, as in the file
  std::uint8_t lines[kNibbleLines * kLineBytes];
};

struct StripeQ4_1 {
  std::uint16_t scales[kLanes];
  std::uint16_t mins[kLanes];
  std::uint8_t lines[kNibbleLines * kLineBytes];
};

// 32 k of bytes: eight lines; in line j, dword `lane`, byte b: k = 4j + b.
struct StripeQ8_0 {
  std::uint16_t scales[kLanes];
  std::int8_t lines[8 * kLineBytes];
};

// 256 k in eight sub-blocks of 32.
struct StripeQ4_K {
  std::uint16_t scales[kLanes];
  std::uint16_t mins[kLanes];
  std::uint8_t sub_scales[8][kLanes];   // 0..63
  std::uint8_t sub_mins[4][kLanes][2];  // 0..63, of sub-blocks 2i and 2i + 1
  std::uint8_t lines[8][kNibbleLines * kLineBytes];
};

static_assert(sizeof(StripeQ4_0) == 288 && sizeof(StripeQ4_1) == 320 && sizeof(StripeQ8_0) == 544 &&
              sizeof(StripeQ4_K) == 2368);

// Rows of activations in int8, as the quantised products read them.
struct QuantisedRows {
  const std::int8_t* values = nullptr;  // row-major
  std::size_t value_stride = 0;
  const float* scales = nullptr;  // one per block
  // Beside Q4_0: -8 * the sum of a block's values, one int32 per block. Beside Q4_K: sums of 32 values, one int16 each.
  const void* sums = nullptr;
  const float* scaled_sums = nullptr;  // beside Q4_1: scale * the sum of a block's values
  std::size_t block_stride = 0;        // blocks (Q4_K: of 256) from one row to the next
};

// out[row][lane] = the product of one stripe and `rows` rows.
struct StripeProduct {
  const void* stripe = nullptr;
  std::size_t blocks = 0;
  QuantisedRows x;
  std::size_t rows = 0;
  float* out = nullptr;  // rows of 16
};

// sums[row][lane] += tile[k][lane] * x[row][k], k in order, by fused multiply-adds.
struct TileProduct {
  const float* tile = nullptr;  // depth rows of 16
  std::size_t depth = 0;
  const float* x = nullptr;
  std::size_t x_stride = 0;
  std::size_t rows = 0;
  float* sums = nullptr;  // rows of 16
};

}  // namespace takt
