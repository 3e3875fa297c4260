#include "sampling/draw.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "unit/sampling/statistics.h"

namespace takt {
namespace {

TEST(Draw, NeverGivesAnIndexWithoutWeight) {
  std::vector<float> weights(1000, 0.0F);
  weights[3] = 1.0F;
  weights[700] = 1e-30F;
  weights[999] = 2.0F;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    EXPECT_GT(weights[draw(weights, uniform01(1, i))], 0.0F);
  }
}

TEST(Draw, TheEndsOfTheUnitIntervalGiveTheFirstAndTheLastWeight) {
  std::vector<float> weights(600, 0.0F);
  weights[5] = 0.3F;
  weights[300] = 0.3F;
  weights[510] = 0.3F;
  EXPECT_EQ(draw(weights, 0.0), 5U);
  EXPECT_EQ(draw(weights, 0.5), 300U);
  EXPECT_EQ(draw(weights, 0x1.fffffffffffffp-1), 510U);
}

TEST(Draw, FrequenciesFollowTheWeights) {
  std::vector<double> expected;
  std::vector<float> weights;
  double total = 0.0;
  for (int i = 0; i < 300; ++i) {
    weights.push_back(static_cast<float>(1 + i % 7));
    total += weights.back();
  }
  for (const float w : weights) expected.push_back(w / total);
  std::vector<std::size_t> counts(weights.size(), 0);
  constexpr std::size_t kDraws = 60000;
  for (std::uint64_t i = 0; i < kDraws; ++i) ++counts[draw(weights, uniform01(42, i))];
  EXPECT_LT(chi_square(counts, expected, kDraws), chi_square_limit(weights.size() - 1));
}

}  // namespace
}  // namespace takt
