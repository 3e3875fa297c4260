// Statistical tests with fixed seeds: a test passes always or never.
#include "trace/arrivals.h"

#include <gtest/gtest.h>

#include "unit/trace/statistics.h"

namespace takt::trace {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::uint64_t kSeed = 7;

std::vector<double> instants(Result<std::unique_ptr<RateProfile>> profile, std::size_t most,
                             std::uint64_t seed = kSeed) {
  std::vector<double> times;
  auto process = arrivals(std::move(profile).value(), seed);
  while (times.size() < most) {
    const auto at = process->next();
    if (!at) break;
    times.push_back(to_seconds(*at));
  }
  return times;
}

std::vector<double> gaps(const std::vector<double>& times) {
  std::vector<double> result;
  for (std::size_t i = 0; i < times.size(); ++i) result.push_back(times[i] - (i == 0 ? 0.0 : times[i - 1]));
  return result;
}

std::size_t count_between(const std::vector<double>& times, double from, double to) {
  return static_cast<std::size_t>(
      std::count_if(times.begin(), times.end(), [&](double time) { return time >= from && time < to; }));
}

TEST(Arrivals, PoissonGapsAreExponential) {
  const auto sample = gaps(instants(constant_rate(4.0, 1.0), 20'000));
  EXPECT_NEAR(moments(sample).mean, 0.25, 0.005);
  EXPECT_NEAR(moments(sample).cv, 1.0, 0.03);
  // 1.63 / sqrt(n): 1 % of true samples are further away.
  EXPECT_LT(largest_distance(sample, [](double gap) { return 1.0 - std::exp(-4.0 * gap); }),
            1.63 / std::sqrt(20'000.0));
}

TEST(Arrivals, PoissonCountsVaryAsMuchAsTheirMean) {
  const auto times = instants(constant_rate(10.0, 1.0, minutes(60)), 1'000'000);
  std::vector<double> counts(3600, 0.0);
  for (const double time : times) counts[static_cast<std::size_t>(time)] += 1.0;
  const Moments of = moments(counts);
  EXPECT_NEAR(of.mean, 10.0, 0.2);
  EXPECT_NEAR(of.cv * of.cv * of.mean, 1.0, 0.08);
}

TEST(Arrivals, BurstinessSetsTheVariationOfTheGapsAndNotTheRate) {
  for (const double burstiness : {0.25, 0.5, 2.0, 4.0}) {
    const auto sample = gaps(instants(constant_rate(5.0, burstiness), 60'000));
    EXPECT_NEAR(moments(sample).mean, 0.2, 0.006) << burstiness;
    EXPECT_NEAR(moments(sample).cv, 1.0 / std::sqrt(burstiness), 0.04) << burstiness;
  }
}

// The gamma distribution of shape 2 has a plain distribution function.
TEST(Arrivals, GapsOfShapeTwoAreDistributedAsTheyShould) {
  const auto sample = gaps(instants(constant_rate(1.0, 2.0), 20'000));
  EXPECT_LT(largest_distance(sample, [](double gap) { return 1.0 - std::exp(-2.0 * gap) * (1.0 + 2.0 * gap); }),
            1.63 / std::sqrt(20'000.0));
}

TEST(Arrivals, EvenGapsAreEven) {
  const auto times = instants(constant_rate(8.0, kEvenGaps), 100);
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_NEAR(times[i], static_cast<double>(i + 1) / 8.0, 1e-6);
}

TEST(Arrivals, ARampHasTheRateOfEveryMoment) {
  const auto times = instants(rate_ramp(0.0, 20.0, seconds(1000), 1.0), 1'000'000);
  EXPECT_NEAR(static_cast<double>(times.size()), 10'000.0, 250.0);
  EXPECT_NEAR(static_cast<double>(count_between(times, 0.0, 500.0)), 2'500.0, 130.0);
  EXPECT_NEAR(static_cast<double>(count_between(times, 900.0, 1000.0)), 1'900.0, 110.0);
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
}

TEST(Arrivals, StepsFollowOneAnotherAndEnd) {
  const auto times =
      instants(rate_course({{seconds(100), 10, 10, 1}, {seconds(100), 0, 0, 1}, {seconds(100), 40, 40, 1}}), 1'000'000);
  EXPECT_NEAR(static_cast<double>(count_between(times, 0, 100)), 1000, 80);
  EXPECT_EQ(count_between(times, 100, 200), 0);
  EXPECT_NEAR(static_cast<double>(count_between(times, 200, 300)), 4000, 160);
  EXPECT_LT(times.back(), 300.0);
}

TEST(Arrivals, OnAndOffTimesAreAsLongAsSaidAndSilentWhenOff) {
  OnOffOptions options;
  options.on_rps = 30.0;
  options.on = seconds(2);
  options.off = seconds(8);
  options.random_lengths = false;
  const auto times = instants(on_off_rate(options, kSeed), 60'000);
  for (const double time : times) ASSERT_LE(std::fmod(time, 10.0), 2.0 + 1e-6);
  EXPECT_NEAR(60'000.0 / times.back(), 6.0, 0.2);

  options.random_lengths = true;
  const auto random = instants(on_off_rate(options, kSeed), 200'000);
  EXPECT_NEAR(200'000.0 / random.back(), 6.0, 0.35);
  std::vector<double> silences;
  for (const double gap : gaps(random)) {
    if (gap > 1.0) silences.push_back(gap - 1.0);  // without a memory: the rest is as the whole
  }
  EXPECT_NEAR(moments(silences).mean, 8.0, 0.5);
}

TEST(Arrivals, TheSameSeedGivesTheSameInstantsAndAnotherSeedOthers) {
  EXPECT_EQ(instants(constant_rate(3.0, 0.5), 100), instants(constant_rate(3.0, 0.5), 100));
  EXPECT_NE(instants(constant_rate(3.0, 0.5), 100), instants(constant_rate(3.0, 0.5), 100, kSeed + 1));
}

TEST(Arrivals, ShapesAtTheEdgeOfTheRangeStillEnd) {
  EXPECT_LT(instants(constant_rate(100.0, 0.001, seconds(10)), 1'000'000).size(), 1'000'000);
  EXPECT_NEAR(static_cast<double>(instants(constant_rate(100.0, 1e9, seconds(10)), 5'000).size()), 1000, 1);
}

TEST(Arrivals, RatesThatCannotBeAreRefused) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(constant_rate(0.0, 1.0));
  EXPECT_FALSE(constant_rate(-1.0, 1.0));
  EXPECT_FALSE(constant_rate(infinite, 1.0));
  EXPECT_FALSE(constant_rate(std::nan(""), 1.0));
  EXPECT_FALSE(constant_rate(1.0, 0.0));
  EXPECT_FALSE(constant_rate(1.0, std::nan("")));
  EXPECT_FALSE(constant_rate(1.0, 1.0, seconds(0)));
  EXPECT_FALSE(rate_ramp(1.0, 2.0, seconds(-1), 1.0));
  EXPECT_FALSE(rate_course({}));
  EXPECT_FALSE(on_off_rate({1.0, 0.0, seconds(0), seconds(5), true, 1.0}, kSeed));
}

}  // namespace
}  // namespace takt::trace
