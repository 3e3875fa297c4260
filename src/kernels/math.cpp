#include "kernels/math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/lanes_scalar.h"
#include "kernels/math_kernels.h"

namespace takt {
namespace {

using One = PlainLanes<1>;
using Math = MathKernels<One>;

constexpr double kRoundMagic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer, ties to even

// ln 2 and pi / 2 in parts: the first ones have trailing zeros, so that a product with a small integer is exact.
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;
constexpr double kHalfPi1 = 1.57079632673412561417e+00;
constexpr double kHalfPi2 = 6.07710050630396597660e-11;
constexpr double kHalfPi3 = 2.02226624879595063154e-21;

}  // namespace

float exp_f32(float x) {
  return Math::exp({{x}}).v[0];
}
float log_f32(float x) {
  return Math::log({{x}}).v[0];
}
float tanh_f32(float x) {
  return Math::tanh({{x}}).v[0];
}

double exp_f64(double x) {
  if (std::isnan(x)) return x;
  if (x < -708.0) return 0.0;
  if (x > 709.0) return std::numeric_limits<double>::infinity();
  const double shifted = std::fma(x, 1.4426950408889634, kRoundMagic);
  const double n = shifted - kRoundMagic;
  const double r = std::fma(n, -kLn2Low, std::fma(n, -kLn2High, x));
  double p = 1.0;  // Taylor series by Horner: 1 + r/1 (1 + r/2 (1 + ...)), |r| <= ln(2) / 2
  for (int k = 14; k >= 1; --k) p = std::fma(p, r / k, 1.0);
  const auto exponent = static_cast<std::uint64_t>(static_cast<std::int64_t>(n) + 1022);
  return p * std::bit_cast<double>(exponent << 52U) * 2.0;
}

double log_f64(double x) {
  const auto offset = std::bit_cast<std::uint64_t>(x) - 0x3FE6A09E667F3BCDULL;  // sqrt(1/2)
  const auto exponent = static_cast<double>(static_cast<std::int64_t>(offset) >> 52);
  const double f = std::bit_cast<double>((offset & 0xFFFFFFFFFFFFFULL) + 0x3FE6A09E667F3BCDULL) - 1.0;
  const double s = f / (2.0 + f);  // log(1 + f) = 2 atanh(s)
  const double z = s * s;
  double p = 2.0 / 23.0;
  for (int k = 21; k >= 3; k -= 2) p = std::fma(p, z, 2.0 / k);
  p *= z;
  return std::fma(exponent, kLn2High, f + std::fma(exponent, kLn2Low, s * (p - f)));
}

SinCos sin_cos_f64(double x) {
  if (!(std::fabs(x) <= 0x1p24))
    return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  const double n = std::fma(x, 0.63661977236758138, kRoundMagic) - kRoundMagic;
  const double r = std::fma(n, -kHalfPi3, std::fma(n, -kHalfPi2, std::fma(n, -kHalfPi1, x)));
  const double z = r * r;
  double s = 1.0;  // Taylor series by Horner, |r| <= pi / 4
  double c = 1.0;
  for (int k = 18; k >= 2; k -= 2) {
    s = std::fma(s, -z / (k * (k + 1)), 1.0);
    c = std::fma(c, -z / (k * (k - 1)), 1.0);
  }
  s *= r;
  switch (static_cast<std::int64_t>(n) & 3) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}

}  // namespace takt
