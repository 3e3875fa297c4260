#include "measure/bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/random.h"
#include "measure/percentile.h"
#include "measure/quantile_selector.h"

namespace takt::measure {
namespace {

TEST(Bootstrap, IntervalsHoldTheTruthAboutAsOftenAsTheySay) {
  const std::array<double, 1> median{0.5};
  int held = 0;
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    std::vector<double> values;
    for (std::uint64_t i = 0; i < 200; ++i) values.push_back(uniform01(trial + 100, i));
    const auto interval = middle(bootstrap_quantiles(values, median, {.seed = trial, .resamples = 300})[0]);
    held += interval.low <= 0.5 && 0.5 <= interval.high;
  }
  EXPECT_GE(held, 178);  // 95 % of 200, less what chance allows
  EXPECT_LE(held, 200);
}

TEST(Bootstrap, EqualValuesAreSure) {
  const std::vector<double> values(50, 3.0);
  const auto interval = middle(bootstrap_means(values));
  EXPECT_EQ(interval.low, 3.0);
  EXPECT_EQ(interval.high, 3.0);
}

TEST(Bootstrap, TheSameSeedGivesTheSameInterval) {
  std::vector<double> values;
  for (std::uint64_t i = 0; i < 100; ++i) values.push_back(uniform01(5, i));
  EXPECT_EQ(bootstrap_means(values, {.seed = 9}), bootstrap_means(values, {.seed = 9}));
  EXPECT_NE(bootstrap_means(values, {.seed = 9}), bootstrap_means(values, {.seed = 10}));
}

TEST(Bootstrap, NeighboursThatAreAlikeMakeTheIntervalWider) {
  std::vector<double> mixed;
  std::vector<double> waves;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    mixed.push_back(uniform01(7, i) < 0.5 ? 0.0 : 1.0);
    waves.push_back((i / 50) % 2 == 0 ? 0.0 : 1.0);
  }
  const auto narrow = middle(bootstrap_means(mixed));
  const auto wide = middle(bootstrap_means(waves));
  EXPECT_GT(wide.high - wide.low, 2.0 * (narrow.high - narrow.low));
}

TEST(Bootstrap, NothingIsKnownOfNoSamples) {
  const std::array<double, 2> p{0.5, 0.9};
  const auto figures = bootstrap_quantiles({}, p);
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_TRUE(figures[0].empty());
  EXPECT_TRUE(bootstrap_means({}).empty());
}

TEST(Bootstrap, GapsOfFewAnswersAreLessSureThanGapsOfMany) {
  // The same 1000 gaps, 500 of them at most the median: evenly over 100 answers, or all in half of 10 answers.
  const std::vector<std::uint32_t> even(100, 5);
  const std::vector<std::uint32_t> tens(100, 10);
  const std::vector<std::uint32_t> lumps{100, 100, 100, 100, 100, 0, 0, 0, 0, 0};
  const std::vector<std::uint32_t> hundreds(10, 100);
  EXPECT_EQ(grouped_share_half_width(0.5, even, tens), 0.0);
  EXPECT_NEAR(grouped_share_half_width(0.5, lumps, hundreds), 1.96 * 0.1667, 1e-3);
}

TEST(QuantileSelector, GivesWhatSortingGives) {
  for (const std::size_t count : {1U, 2U, 3U, 100U, 1001U}) {
    std::vector<double> values;
    for (std::uint64_t i = 0; i < count; ++i) values.push_back(std::floor(uniform01(3, i) * 50.0));
    QuantileSelector selector(values);
    std::sort(values.begin(), values.end());
    for (const double p : {0.5, 0.99, 0.0, 1.0, 0.9, 0.501, 0.5, 0.25, -0.1, 1.1})
      EXPECT_EQ(selector.quantile(p), *percentile(values, std::clamp(p, 0.0, 1.0))) << count << " " << p;
  }
}

}  // namespace
}  // namespace takt::measure
