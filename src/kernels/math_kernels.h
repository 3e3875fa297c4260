// exp, log, tanh and the row functions made of them, over any lanes type. Errors are stated in docs/numerics.md and
// held by tests.
#pragma once

#include <cstdint>

#include "kernels/numerics.h"

namespace takt {

template <typename L>
struct MathKernels {
  using F = typename L::F;
  using I = typename L::I;

  // Relative error below 2^-22.5. Below -86: 0. Above 88.72: infinity. exp(0) is 1, NaN stays NaN.
  static F exp(F x) {
    const Reduced e = reduce(L::min(L::broadcast(89.0F), L::max(L::broadcast(-87.0F), x)));
    // 2^(n - 1), then twice: n may be 128.
    const I exponent = L::sub_int(L::bits(e.shifted), L::broadcast_int(kMagicBits - 126));
    F y = L::mul(e.power, L::from_bits(L::template shift_left<23>(exponent)));
    y = L::add(y, y);
    y = L::select(L::less(x, L::broadcast(-86.0F)), L::broadcast(0.0F), y);
    return L::select(L::less(L::broadcast(88.7228F), x), L::broadcast(__builtin_inff()), y);
  }

  // exp(x) for x <= 0 or NaN, the same bits.
  static F exp_nonpositive(F x) {
    const Reduced e = reduce(L::max(L::broadcast(-87.0F), x));
    const I exponent = L::sub_int(L::bits(e.shifted), L::broadcast_int(kMagicBits - 127));
    const F y = L::mul(e.power, L::from_bits(L::template shift_left<23>(exponent)));
    return L::select(L::less(x, L::broadcast(-86.0F)), L::broadcast(0.0F), y);
  }

  // Error below 1.5 ulp, also for subnormal x. log(0) is -infinity, negative x and NaN give NaN.
  static F log(F x) {
    const I tiny = L::less(x, L::broadcast(0x1p-126F));
    const F scaled = L::select(tiny, L::mul(x, L::broadcast(0x1p23F)), x);
    // The mantissa in [sqrt(1/2), sqrt(2)), the exponent beside it.
    const I offset = L::sub_int(L::bits(scaled), L::broadcast_int(0x3F3504F3));
    const F exponent = L::sub(L::to_float(L::template shift_right_arithmetic<23>(offset)),
                              L::select(tiny, L::broadcast(23.0F), L::broadcast(0.0F)));
    const F m = L::from_bits(L::add_int(L::and_int(offset, L::broadcast_int(0x7FFFFF)), L::broadcast_int(0x3F3504F3)));
    const F f = L::sub(m, L::broadcast(1.0F));  // exact
    // log(1 + f) = 2 atanh(s), s = f / (2 + f), with 2s = f - s * f, so that the leading term is exact (as in fdlibm's
    // e_log.c, by its own series)
    const F s = L::div(f, L::add(f, L::broadcast(2.0F)));
    const F z = L::mul(s, s);
    F p = L::broadcast(2.0F / 11.0F);
    p = L::fma(p, z, L::broadcast(2.0F / 9.0F));
    p = L::fma(p, z, L::broadcast(2.0F / 7.0F));
    p = L::fma(p, z, L::broadcast(2.0F / 5.0F));
    p = L::fma(p, z, L::broadcast(2.0F / 3.0F));
    p = L::mul(p, z);
    const F tail = L::mul(s, L::sub(p, f));
    const F small = L::fma(exponent, L::broadcast(-2.12194440e-4F), tail);
    F y = L::fma(exponent, L::broadcast(0.693359375F), L::add(f, small));
    y = L::select(L::less(x, L::broadcast(0.0F)), L::broadcast(__builtin_nanf("")), y);
    y = L::select(equal_zero(x), L::broadcast(-__builtin_inff()), y);
    const I finite = L::less(x, L::broadcast(__builtin_inff()));
    return L::select(finite, y, L::add(x, x));  // infinity and NaN
  }

  // Absolute error below 2e-7.
  static F tanh(F x) {
    const I sign = L::and_int(L::bits(x), L::broadcast_int(INT32_MIN));
    const F magnitude = L::from_bits(L::and_int(L::bits(x), L::broadcast_int(INT32_MAX)));
    const F e = exp(L::mul(magnitude, L::broadcast(-2.0F)));
    const F y = L::div(L::sub(L::broadcast(1.0F), e), L::add(L::broadcast(1.0F), e));
    return L::from_bits(L::or_int(L::bits(y), sign));
  }

  // x / (1 + exp(-x))
  static F silu(F x) { return L::div(x, L::add(L::broadcast(1.0F), exp(L::sub(L::broadcast(0.0F), x)))); }

 private:
  static constexpr std::int32_t kMagicBits = 0x4B400000;  // of 1.5 * 2^23

  // x = n ln 2 + r, |r| <= ln(2) / 2.
  struct Reduced {
    F shifted;  // n + 1.5 * 2^23
    F power;    // exp(r)
  };

  static Reduced reduce(F x) {
    const F kMagic = L::broadcast(12582912.0F);  // 1.5 * 2^23: adding it rounds to an integer, ties to even
    const F shifted = L::fma(x, L::broadcast(1.44269504F), kMagic);
    const F n = L::sub(shifted, kMagic);
    F r = L::fma(n, L::broadcast(-0.693359375F), x);  // ln 2 in two parts, the first exact in 9 bits
    r = L::fma(n, L::broadcast(2.12194440e-4F), r);
    F p = L::broadcast(1.0F / 5040.0F);  // Taylor series to r^7
    p = L::fma(p, r, L::broadcast(1.0F / 720.0F));
    p = L::fma(p, r, L::broadcast(1.0F / 120.0F));
    p = L::fma(p, r, L::broadcast(1.0F / 24.0F));
    p = L::fma(p, r, L::broadcast(1.0F / 6.0F));
    p = L::fma(p, r, L::broadcast(0.5F));
    p = L::fma(p, r, L::broadcast(1.0F));
    p = L::fma(p, r, L::broadcast(1.0F));
    return {shifted, p};
  }

  static I equal_zero(F x) {
    const I magnitude = L::and_int(L::bits(x), L::broadcast_int(INT32_MAX));
    return L::less_int(magnitude, L::broadcast_int(1));
  }
};

}  // namespace takt
