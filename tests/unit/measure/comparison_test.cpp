#include "measure/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "measured_runs.h"

namespace takt::measure {
namespace {

using test::answer;
using test::random_run;
using test::run_of;

const Difference* find(const Comparison& comparison, const std::string& figure) {
  const auto found = std::find_if(comparison.differences.begin(), comparison.differences.end(),
                                  [&](const auto& one) { return one.figure == figure; });
  return found == comparison.differences.end() ? nullptr : &*found;
}

TEST(Comparison, SeesADifferenceThatIsThere) {
  const auto comparison = compare(random_run(400, 0.2, 1), random_run(400, 0.3, 2));
  const auto* median = find(comparison, "ttft p50");
  ASSERT_NE(median, nullptr);
  EXPECT_TRUE(median->real());
  EXPECT_GT(median->after, median->before);
  const auto* attainment = find(comparison, "attainment");
  ASSERT_NE(attainment, nullptr);
  EXPECT_TRUE(attainment->real());
  EXPECT_LT(attainment->after, attainment->before);
}

TEST(Comparison, TakesChanceForADifferenceSeldom) {
  int false_alarms = 0;
  for (std::uint64_t trial = 0; trial < 60; ++trial) {
    const auto comparison = compare(random_run(150, 0.2, 10 + trial), random_run(150, 0.2, 1000 + trial));
    false_alarms += find(comparison, "ttft p50")->real();
  }
  EXPECT_LE(false_alarms, 9);  // 5 % of 60, and what chance allows
}

// A replay's window ends with its last answer: where all met their targets, only that end differs between two runs.
TEST(Comparison, AWindowThatEndsALittleLaterIsNoDifferenceInGoodput) {
  const auto replay = [](std::uint64_t seed, double late) {
    std::vector<AnswerSample> samples;
    double end = 0.0;
    for (std::size_t i = 0; i < 200; ++i) {
      samples.push_back(answer(0.02 * static_cast<double>(i), 0.01 + 0.02 * uniform01(seed, i), 0.005, 8));
      end = std::max(end, to_seconds(samples.back().record.times.end->time_since_epoch()));
    }
    samples.push_back(answer(4.0, 0.01 + late, 0.005, 8));
    end = std::max(end, to_seconds(samples.back().record.times.end->time_since_epoch()));
    return run_of(std::move(samples), end);
  };
  for (std::uint64_t trial = 0; trial < 20; ++trial) {
    const auto comparison = compare(replay(10 + trial, 0.0), replay(100 + trial, 0.05 * uniform01(7, trial)));
    const auto* goodput = find(comparison, "goodput");
    ASSERT_NE(goodput, nullptr);
    EXPECT_GT(goodput->interval.high, goodput->interval.low);
    EXPECT_FALSE(goodput->real()) << trial;
  }
}

TEST(Comparison, GoodputThatIsHalfAsMuchIsADifferenceWhateverTheWindow) {
  for (const double end : {200.0, 201.5}) {
    auto worse = random_run(200, 0.2, 2);
    for (std::size_t i = 0; i < worse.samples.size(); i += 2) worse.samples[i].record.outcome = Outcome::kFailed;
    worse.end = test::at_seconds(end);
    const auto comparison = compare(random_run(200, 0.1, 1), worse);
    const auto* goodput = find(comparison, "goodput");
    ASSERT_NE(goodput, nullptr);
    EXPECT_TRUE(goodput->real());
    EXPECT_LT(goodput->after, goodput->before);
  }
}

TEST(Comparison, LeavesOutPercentilesThatSayNothing) {
  const auto comparison = compare(random_run(150, 0.2, 1), random_run(150, 0.2, 2));
  EXPECT_NE(find(comparison, "ttft p90"), nullptr);
  EXPECT_EQ(find(comparison, "ttft p99"), nullptr);
}

// G4: two runs that did different work are not compared.
TEST(Comparison, RunsOfDifferentLengthsDidDifferentWork) {
  const auto run_of_lengths = [](std::uint32_t prompt, std::uint32_t output) {
    std::vector<AnswerSample> samples;
    for (int i = 0; i < 20; ++i) {
      samples.push_back(answer(i, 0.1, 0.01, output));
      samples.back().prompt_tokens = prompt;
    }
    return run_of(std::move(samples), 20.0);
  };
  EXPECT_FALSE(different_work(run_of_lengths(100, 50), run_of_lengths(101, 50)));
  EXPECT_TRUE(different_work(run_of_lengths(100, 50), run_of_lengths(110, 50)));
  EXPECT_TRUE(different_work(run_of_lengths(100, 50), run_of_lengths(100, 40)));
}

}  // namespace
}  // namespace takt::measure
