// How packed weights lie in memory. A stripe is 16 output rows (the lanes); along K it is one sequential stream of
// blocks. The layout is the same for all instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/numerics.h"

namespace takt {

inline constexpr std::size_t kLineBytes = 64;  // one dword per lane

// What the codes of the non-linear 4-bit types stand for.
inline constexpr std::int8_t kNonLinearLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                     1,    13,   25,  38,  53,  69,  89,  113};

// 32 k of nibbles: four lines; in line j, dword `lane`, byte b: low nibble k = 4j + b, high nibble k = 16 + 4j + b.
inline constexpr std::size_t kNibbleLines = 4;

// Q4_0 and IQ4_NL.
struct StripeQ4_0 {
  std::uint16_t scales[kLanes];  // half floats, as in the file
  std::uint8_t lines[kNibbleLines * kLineBytes];
};

struct StripeQ4_1 {
  std::uint16_t scales[kLanes];
  std::uint16_t mins[kLanes];
  std::uint8_t lines[kNibbleLines * kLineBytes];
};

// The fifth bits of 32 k: one line; in dword `lane`, byte b, bit 4h + j: of k = 16h + 4j + b.
struct StripeQ5_0 {
  std::uint16_t scales[kLanes];
  std::uint8_t lines[kNibbleLines * kLineBytes];
  std::uint8_t fifth_bits[kLineBytes];
};

struct StripeQ5_1 {
  std::uint16_t scales[kLanes];
  std::uint16_t mins[kLanes];
  std::uint8_t lines[kNibbleLines * kLineBytes];
  std::uint8_t fifth_bits[kLineBytes];
};

// 32 k of bytes: eight lines; in line j, dword `lane`, byte b: k = 4j + b.
struct StripeQ8_0 {
  std::uint16_t scales[kLanes];
  std::int8_t lines[8 * kLineBytes];
};

// 256 k in eight blocks of 32.
struct StripeQ4_K {
  std::uint16_t scales[kLanes];
  std::uint16_t mins[kLanes];
  std::uint8_t sub_scales[8][kLanes];  // 0..63
  std::uint8_t sub_mins[8][kLanes];    // 0..63
  std::uint8_t lines[8][kNibbleLines * kLineBytes];
};

struct StripeQ5_K {
  std::uint16_t scales[kLanes];
  std::uint16_t mins[kLanes];
  std::uint8_t sub_scales[8][kLanes];  // 0..63
  std::uint8_t sub_mins[8][kLanes];    // 0..63
  std::uint8_t lines[8][kNibbleLines * kLineBytes];
  std::uint8_t fifth_bits[8][kLineBytes];
};

// 16 k of six bits: three lines; in line j, dword `lane`, byte b: in the lower six bits k = 4j + b, in the upper two
// the bits 2j and 2j + 1 of k = 12 + b.
inline constexpr std::size_t kSixBitLines = 3;

// 256 k in eight blocks of 32, of two sub-blocks of 16 each.
struct StripeQ6_K {
  std::uint16_t scales[kLanes];
  std::int8_t sub_scales[8][kLanes][2];  // of sub-blocks 2i and 2i + 1
  std::uint8_t lines[8][2 * kSixBitLines * kLineBytes];
};

struct StripeIQ4_XS {
  std::uint16_t scales[kLanes];
  std::int8_t sub_scales[8][kLanes];  // -32..31
  std::uint8_t lines[8][kNibbleLines * kLineBytes];
};

static_assert(sizeof(StripeQ4_0) == 288 && sizeof(StripeQ4_1) == 320 && sizeof(StripeQ8_0) == 544 &&
              sizeof(StripeQ4_K) == 2368 && sizeof(StripeQ5_0) == 352 && sizeof(StripeQ5_1) == 384 &&
              sizeof(StripeQ5_K) == 2880 && sizeof(StripeQ6_K) == 3360 && sizeof(StripeIQ4_XS) == 2208);

// Rows of activations in int8, as the quantised products read them.
struct QuantisedRows {
  const std::int8_t* values = nullptr;  // row-major
  std::size_t value_stride = 0;
  const float* scales = nullptr;            // one per block
  const std::int32_t* offsets = nullptr;    // -8 * the sum of a block's values
  const float* scaled_sums = nullptr;       // scale * the sum of a block's values
  const std::int16_t* half_sums = nullptr;  // the sums of a block's first and last 16 values
  std::size_t block_stride = 0;             // blocks from one row to the next
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
