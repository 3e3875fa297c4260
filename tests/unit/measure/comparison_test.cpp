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
