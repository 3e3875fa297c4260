#include "kernels/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernel_fixtures.h"
#include "kernels/activations.h"
#include "kernels/math.h"

namespace takt {
namespace {

using test::random_floats;
using test::runnable_levels;
using test::same_bits;
using test::view_of;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t kWidths[] = {1, 15, 16, 17, 31, 33, 64, 576, 1001};

// Runs `body(compute)` on every level and on 1 and 2 threads; all results must have the bits of the first.
template <typename Body>
void expect_same_everywhere(const Body& body) {
  std::vector<float> first;
  for (const Isa isa : runnable_levels()) {
    for (const int threads : {1, 2}) {
      ThreadPool pool(threads);
      const std::vector<float> got = body(Compute(isa, pool));
      if (first.empty()) first = got;
      EXPECT_TRUE(same_bits(got, first)) << isa_name(isa) << ", " << threads << " threads";
    }
  }
}

void rms_norm(const Compute& compute, ConstMatrixView x, const float* weight, float epsilon, MatrixView out) {
  Activations activations;
  EXPECT_TRUE(activations.assign_normalised(compute, x, weight, epsilon, out, ActivationFormats::kNone));
}

void silu_multiply(const Compute& compute, MatrixView gate, ConstMatrixView up) {
  Activations activations;
  EXPECT_TRUE(activations.assign_gated(compute, gate, up, ActivationFormats::kNone));
}

TEST(RmsNorm, IsNearTheFormulaInDoublePrecision) {
  ThreadPool pool(1);
  const Compute compute(runnable_levels().back(), pool);
  for (const std::size_t n : kWidths) {
    std::vector<float> x = random_floats(1, n, 3.0F);
    const std::vector<float> weight = random_floats(2, n);
    std::vector<float> out(n);
    rms_norm(compute, view_of(x, 1, n), weight.data(), 1e-5F, view_of(out, 1, n));
    double squares = 0.0;
    for (const float v : x) squares += static_cast<double>(v) * v;
    const double scale = 1.0 / std::sqrt(squares / static_cast<double>(n) + 1e-5);
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(out[i], x[i] * scale * weight[i], 1e-5) << n;
  }
}

TEST(RowFunctions, AreEqualByBitsOnEveryInstructionSetAndThreadCount) {
  for (const std::size_t n : kWidths) {
    expect_same_everywhere([n](const Compute& compute) {
      constexpr std::size_t kRows = 40;
      std::vector<float> x = random_floats(3, n * kRows, 5.0F);
      std::vector<float> y = random_floats(4, n * kRows, 5.0F);
      std::vector<float> out(n * kRows);
      rms_norm(compute, view_of(x, kRows, n), y.data(), 1e-6F, view_of(out, kRows, n));
      silu_multiply(compute, view_of(x, kRows, n), view_of(y, kRows, n));
      add(compute, view_of(y, kRows, n), view_of(x, kRows, n));
      out.insert(out.end(), x.begin(), x.end());
      out.insert(out.end(), y.begin(), y.end());
      out.push_back(log_sum_exp(compute, std::span(y).first(n)));
      return out;
    });
  }
}

TEST(Activations, ThatAreMadeOnTheWayAreQuantisedLikeThoseThatWereThere) {
  constexpr std::size_t kRows = 37;
  constexpr std::size_t kCols = 288;
  constexpr std::size_t kBlocks = kRows * kCols / kActivationBlock;
  const auto expect_same = [](const QuantisedRows& got, const QuantisedRows& want) {
    EXPECT_TRUE(std::equal(want.values, want.values + kRows * kCols, got.values));
    EXPECT_TRUE(same_bits(std::span(got.scales, kBlocks), std::span(want.scales, kBlocks)));
    EXPECT_TRUE(same_bits(std::span(got.scaled_sums, kBlocks), std::span(want.scaled_sums, kBlocks)));
    EXPECT_TRUE(std::equal(want.offsets, want.offsets + kBlocks, got.offsets));
    EXPECT_TRUE(std::equal(want.half_sums, want.half_sums + 2 * kBlocks, got.half_sums));
  };
  for (const Isa isa : runnable_levels()) {
    for (const int threads : {1, 2}) {
      ThreadPool pool(threads);
      const Compute compute(isa, pool);
      std::vector<float> x = random_floats(31, kRows * kCols, 4.0F);
      std::vector<float> y = random_floats(32, kRows * kCols, 4.0F);
      std::vector<float> normalised(x.size());
      Activations made;
      Activations there;
      ASSERT_TRUE(made.assign_normalised(compute, view_of(x, kRows, kCols), y.data(), 1e-5F,
                                         view_of(normalised, kRows, kCols), ActivationFormats::kBlock32));
      ASSERT_TRUE(there.assign(compute, view_of(normalised, kRows, kCols), ActivationFormats::kBlock32));
      expect_same(made.quantised(0), there.quantised(0));
      ASSERT_TRUE(
          made.assign_gated(compute, view_of(x, kRows, kCols), view_of(y, kRows, kCols), ActivationFormats::kBlock32));
      ASSERT_TRUE(there.assign(compute, view_of(x, kRows, kCols), ActivationFormats::kBlock32));
      expect_same(made.quantised(0), there.quantised(0));
    }
  }
}

TEST(RowFunctions, TakeNanAndInfinityWithoutHarm) {
  expect_same_everywhere([](const Compute& compute) {
    std::vector<float> x = {kNan, kInfinity, -kInfinity, 0.0F, -0.0F, 1e38F, 1e-45F, 3.0F};
    x.resize(40, 1.0F);
    std::vector<float> y = x;
    std::vector<float> out(x.size());
    rms_norm(compute, view_of(x, 1, 40), y.data(), 1e-6F, view_of(out, 1, 40));
    silu_multiply(compute, view_of(x, 1, 40), view_of(y, 1, 40));
    out.insert(out.end(), x.begin(), x.end());
    out.push_back(log_sum_exp(compute, y));
    out.push_back(static_cast<float>(argmax(compute, y)));
    return out;
  });
}

TEST(SiluMultiply, IsNearTheFormulaInDoublePrecision) {
  ThreadPool pool(1);
  const Compute compute(runnable_levels().back(), pool);
  std::vector<float> gate = random_floats(5, 1000, 30.0F);
  const std::vector<float> before = gate;
  std::vector<float> up = random_floats(6, 1000);
  silu_multiply(compute, view_of(gate, 1, 1000), view_of(up, 1, 1000));
  for (std::size_t i = 0; i < 1000; ++i) {
    const double x = before[i];
    const double truth = x / (1.0 + std::exp(-x)) * up[i];
    EXPECT_NEAR(gate[i], truth, std::fabs(truth) * 5e-7 + 1e-12);
  }
}

TEST(Rope, TurnsPairsByPositionTimesFrequency) {
  constexpr std::size_t kDim = 12;
  const std::vector<std::uint32_t> positions = {0, 1, 4095};
  std::vector<double> frequencies;
  for (std::size_t i = 0; i < kDim / 2; ++i) frequencies.push_back(rope_frequency(10000.0, i, kDim));
  EXPECT_NEAR(frequencies[3], std::pow(10000.0, -0.5), 1e-17);
  RopeAngles angles;
  angles.assign(positions, frequencies, 1.0F);
  for (const RopeOrder order : {RopeOrder::kAdjacent, RopeOrder::kHalves}) {
    expect_same_everywhere([&](const Compute& compute) {
      const std::vector<float> before = random_floats(7, 3 * 2 * kDim);
      std::vector<float> x = before;
      apply_rope(compute, angles, order, kDim, view_of(x, 3, 2 * kDim));
      for (std::size_t row = 0; row < 3; ++row) {
        for (std::size_t head = 0; head < 2; ++head) {
          for (std::size_t i = 0; i < kDim / 2; ++i) {
            const std::size_t start = (row * 2 + head) * kDim;
            const std::size_t a = start + (order == RopeOrder::kAdjacent ? 2 * i : i);
            const std::size_t b = start + (order == RopeOrder::kAdjacent ? 2 * i + 1 : i + kDim / 2);
            const double angle = positions[row] * frequencies[i];
            EXPECT_NEAR(x[a], before[a] * std::cos(angle) - before[b] * std::sin(angle), 1e-6);
            EXPECT_NEAR(x[b], before[a] * std::sin(angle) + before[b] * std::cos(angle), 1e-6);
          }
        }
      }
      return x;
    });
  }
}

TEST(Rope, LeavesDimensionsBeyondThePairsAlone) {
  ThreadPool pool(1);
  const Compute compute(runnable_levels().back(), pool);
  const std::vector<std::uint32_t> positions = {9};
  const std::vector<double> frequencies = {1.0, 0.1};
  RopeAngles angles;
  angles.assign(positions, frequencies, 1.0F);
  std::vector<float> x = random_floats(8, 8);
  const std::vector<float> before = x;
  apply_rope(compute, angles, RopeOrder::kHalves, 8, view_of(x, 1, 8));
  EXPECT_NE(x[0], before[0]);
  for (std::size_t i = 4; i < 8; ++i) EXPECT_EQ(x[i], before[i]);
}

TEST(LogSumExp, IsNearTheTruthAndSurvivesLargeLogits) {
  ThreadPool pool(1);
  const Compute compute(runnable_levels().back(), pool);
  std::vector<float> logits = random_floats(9, 49152, 20.0F);
  long double sum = 0.0L;
  for (const float v : logits) sum += std::exp(static_cast<long double>(v));
  EXPECT_NEAR(log_sum_exp(compute, logits), static_cast<double>(std::log(sum)), 4e-6);
  const std::vector<float> large = {1e4F, 1e4F};
  EXPECT_NEAR(log_sum_exp(compute, large), 1e4 + std::log(2.0), 1e-3);
  const std::vector<float> nothing(20, -kInfinity);
  EXPECT_EQ(log_sum_exp(compute, nothing), -kInfinity);
}

TEST(Argmax, IsTheFirstOfTheLargestAndNeverNan) {
  ThreadPool pool(1);
  for (const Isa isa : runnable_levels()) {
    const Compute compute(isa, pool);
    std::vector<float> x(100, -1.0F);
    x[37] = 5.0F;
    x[38] = 5.0F;
    x[99] = 5.0F;
    EXPECT_EQ(argmax(compute, x), 37U);
    x[3] = kNan;
    EXPECT_EQ(argmax(compute, x), 37U);
    std::fill(x.begin(), x.end(), kNan);
    EXPECT_EQ(argmax(compute, x), 0U);
  }
}

TEST(LookUpRows, GivesTheFilesOwnValuesAndRefusesIdsOutsideTheTable) {
  ThreadPool pool(1);
  std::vector<float> table = random_floats(10, 20 * 300);
  const auto packed = PackedMatrix::pack(TensorType::kF32, std::as_bytes(std::span(table)), 20, 300, pool);
  ASSERT_TRUE(packed);
  std::vector<float> out(2 * 300);
  const std::vector<std::int32_t> ids = {19, 0};
  ASSERT_TRUE(look_up_rows(*packed, ids, view_of(out, 2, 300)));
  EXPECT_TRUE(same_bits(std::span(out).first(300), std::span(table).last(300)));
  EXPECT_TRUE(same_bits(std::span(out).last(300), std::span(table).first(300)));
  for (const std::int32_t id : {-1, 20}) {
    const std::vector<std::int32_t> wrong = {id};
    EXPECT_FALSE(look_up_rows(*packed, wrong, view_of(out, 2, 300)));
  }
  EXPECT_FALSE(look_up_rows(*packed, ids, view_of(out, 2, 299)));
}

}  // namespace
}  // namespace takt
