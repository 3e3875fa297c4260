// Blocks of 32 values of a key or value as int8 with a half-float scale, over any lanes type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/numerics.h"

namespace takt {

template <typename L>
struct KvQuantiser {
  using F = typename L::F;
  using I = typename L::I;

  // Writes 32 integers, 0 beyond `count` (at most 32), and returns the bits of their scale: the largest magnitude /
  // 127, rounded to a half float. An integer is the value times the scale's reciprocal, rounded to the nearest, ties to
  // even, within -127..127. A block that holds something that is no number, or whose scale no half float can hold, has
  // the scale NaN and integers 0.
  static std::uint16_t quantise(const float* x, std::size_t count, std::int8_t* out) {
    float values[kKvBlock];
    for (std::size_t i = 0; i < kKvBlock; ++i) values[i] = i < count ? x[i] : 0.0F;
    const F first = L::load(values);
    const F last = L::load(values + kLanes);
    std::uint16_t scale[kLanes];
    L::store_half(scale, L::broadcast(largest_magnitude(first, last) / 127.0F));
    float wide[kLanes];
    L::store(wide, L::load_half(scale));
    const bool number = (scale[0] & kInfinity) != kInfinity;
    if (!number || wide[0] == 0.0F) {
      for (std::size_t i = 0; i < kKvBlock; ++i) out[i] = 0;
      return number ? scale[0] : kNan;
    }
    const F inverse = L::broadcast(1.0F / wide[0]);
    L::store_i8(out, rounded(L::mul(first, inverse)));
    L::store_i8(out + kLanes, rounded(L::mul(last, inverse)));
    return scale[0];
  }

 private:
  static constexpr std::uint16_t kInfinity = 0x7C00;
  static constexpr std::uint16_t kNan = 0x7E00;

  // Compared as integers, so NaN and infinity are seen in any order.
  static float largest_magnitude(F first, F last) {
    const I all_but_sign = L::broadcast_int(INT32_MAX);
    const I most = L::max_int(L::and_int(L::bits(first), all_but_sign), L::and_int(L::bits(last), all_but_sign));
    const std::int32_t bits = L::max_of_int(most);
    float largest;
    __builtin_memcpy(&largest, &bits, sizeof largest);
    return largest;
  }

  static I rounded(F x) {
    const F magic = L::broadcast(12582912.0F);  // 1.5 * 2^23: adding it rounds to an integer, ties to even
    const F within = L::max(L::broadcast(-127.0F), L::min(L::broadcast(127.0F), x));
    return L::sub_int(L::bits(L::add(within, magic)), L::bits(magic));
  }
};

}  // namespace takt
