// Our own elementary functions against long double, and lanes against scalars by bits.
#include "kernels/math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernel_fixtures.h"
#include "kernels/lanes_scalar.h"
#include "kernels/math_kernels.h"

namespace takt {
namespace {

using test::same_bits;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Floats spread over a range, and the special ones.
std::vector<float> samples(float low, float high, std::size_t n) {
  std::vector<float> values = {0.0F,   -0.0F, 1.0F,   -1.0F, kInfinity, -kInfinity, kNan,  1e-45F,
                               1e-39F, 3e38F, -3e38F, 88.7F, 88.73F,    -86.0F,     -87.5F};
  for (std::size_t i = 0; i < n; ++i)
    values.push_back(low + (high - low) * static_cast<float>(i) / static_cast<float>(n));
  return values;
}

TEST(ExpF32, IsWithinItsStatedErrorOfTheTruth) {
  long double worst = 0.0L;
  for (const float x : samples(-85.9F, 88.7F, 200000)) {
    if (!(x >= -86.0F && x <= 88.72F)) continue;
    const long double truth = std::exp(static_cast<long double>(x));
    worst = std::max(worst, std::fabs((static_cast<long double>(exp_f32(x)) - truth) / truth));
  }
  EXPECT_LT(worst, 1.7e-7L);
}

TEST(ExpF32, HasTheStatedValuesAtItsEdges) {
  EXPECT_EQ(exp_f32(0.0F), 1.0F);
  EXPECT_EQ(exp_f32(-0.0F), 1.0F);
  EXPECT_EQ(exp_f32(-kInfinity), 0.0F);
  EXPECT_EQ(exp_f32(-90.0F), 0.0F);
  EXPECT_EQ(exp_f32(89.0F), kInfinity);
  EXPECT_EQ(exp_f32(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(exp_f32(kNan)));
}

TEST(ExpF32, OfNonpositiveValuesHasTheSameBits) {
  using Math = MathKernels<ScalarLanes>;
  for (const float x : samples(-90.0F, 0.0F, 20000)) {
    if (x > 0.0F) continue;
    const auto lanes = ScalarLanes::broadcast(x);
    float expected[kLanes];
    float got[kLanes];
    ScalarLanes::store(expected, Math::exp(lanes));
    ScalarLanes::store(got, Math::exp_nonpositive(lanes));
    EXPECT_TRUE(same_bits(got[0], expected[0])) << x;
  }
}

TEST(LogF32, IsWithinItsStatedErrorOfTheTruth) {
  long double worst = 0.0L;
  const auto check = [&](float x) {
    const long double truth = std::log(static_cast<long double>(x));
    const float nearest = static_cast<float>(truth);
    const long double ulp = static_cast<long double>(std::nextafter(std::fabs(nearest), kInfinity)) -
                            std::fabs(static_cast<long double>(nearest));
    worst = std::max(worst, std::fabs(static_cast<long double>(log_f32(x)) - truth) / ulp);
  };
  for (std::uint32_t bits = 1; bits < 0x7F800000U; bits += 7919) check(std::bit_cast<float>(bits));
  for (std::uint32_t bits = 0x3F000000U; bits < 0x40000000U; bits += 61) check(std::bit_cast<float>(bits));
  EXPECT_LT(worst, 1.5L);
}

TEST(LogF32, HasTheStatedValuesAtItsEdges) {
  EXPECT_EQ(log_f32(1.0F), 0.0F);
  EXPECT_EQ(log_f32(0.0F), -kInfinity);
  EXPECT_EQ(log_f32(-0.0F), -kInfinity);
  EXPECT_EQ(log_f32(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(log_f32(-1.0F)));
  EXPECT_TRUE(std::isnan(log_f32(-kInfinity)));
  EXPECT_TRUE(std::isnan(log_f32(kNan)));
}

TEST(TanhF32, IsWithinItsStatedErrorOfTheTruth) {
  for (const float x : samples(-20.0F, 20.0F, 100000)) {
    if (std::isnan(x)) continue;
    EXPECT_NEAR(tanh_f32(x), std::tanh(static_cast<double>(x)), 2e-7) << x;
  }
  EXPECT_TRUE(std::isnan(tanh_f32(kNan)));
}

TEST(ExpF64AndLogF64, AreWithinTheirStatedErrors) {
  for (int i = -70000; i <= 70000; ++i) {
    const double x = i * 0.01;
    const long double truth = std::exp(static_cast<long double>(x));
    EXPECT_LT(std::fabs((static_cast<long double>(exp_f64(x)) - truth) / truth), 4e-16L) << x;
  }
  for (int i = 1; i <= 100000; ++i) {
    const double x = i * 0.37;
    const long double truth = std::log(static_cast<long double>(x));
    EXPECT_NEAR(log_f64(x), static_cast<double>(truth), std::fabs(static_cast<double>(truth)) * 4e-16 + 1e-17) << x;
  }
}

TEST(SinCosF64, IsWithinItsStatedErrorForEveryPosition) {
  for (int i = 0; i <= 200000; ++i) {
    const double x = std::min(i * 83.88661, 0x1p24);
    const SinCos got = sin_cos_f64(x);
    EXPECT_NEAR(got.sin, static_cast<double>(std::sin(static_cast<long double>(x))), 1e-15) << x;
    EXPECT_NEAR(got.cos, static_cast<double>(std::cos(static_cast<long double>(x))), 1e-15) << x;
  }
  EXPECT_EQ(sin_cos_f64(0.0).sin, 0.0);
  EXPECT_EQ(sin_cos_f64(0.0).cos, 1.0);
  EXPECT_TRUE(std::isnan(sin_cos_f64(std::numeric_limits<double>::infinity()).sin));
}

TEST(ElementaryFunctions, AreEqualByBitsOnEveryInstructionSet) {
  const std::vector<float> x = samples(-100.0F, 100.0F, 30001);
  for (const Isa isa : test::runnable_levels()) {
    const KernelTable& kernels = kernel_table(isa);
    std::vector<float> got(x.size());
    std::vector<float> want(x.size());
    const auto compare = [&](auto* row, float (*one)(float)) {
      row(x.data(), x.size(), got.data());
      for (std::size_t i = 0; i < x.size(); ++i) want[i] = one(x[i]);
      EXPECT_TRUE(same_bits(got, want)) << isa_name(isa);
    };
    compare(kernels.exp, exp_f32);
    compare(kernels.log, log_f32);
    compare(kernels.tanh, tanh_f32);
  }
}

}  // namespace
}  // namespace takt
