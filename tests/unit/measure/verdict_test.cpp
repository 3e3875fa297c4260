#include "measure/verdict.h"

#include <gtest/gtest.h>

#include "measured_runs.h"

namespace takt::measure {
namespace {

using test::answer;
using test::at_seconds;
using test::random_run;
using test::run_of;

TEST(Verdict, CountsGoodputOverEverythingOfferedAndLeavesCancelledOut) {
  std::vector<AnswerSample> samples;
  for (int i = 0; i < 20; ++i) samples.push_back(answer(i, i < 5 ? 2.0 : 0.1, 0.01, 10));
  for (auto& sample : samples) sample.record.targets.ttft = from_seconds(1.0);
  samples[10].record.outcome = Outcome::kFailed;
  samples[10].failure = Failure::kReset;
  samples[11].record.outcome = Outcome::kShed;
  samples[11].failure = Failure::kRateLimited;
  samples[12].record.outcome = Outcome::kExpired;
  samples[12].failure = Failure::kOverloaded;
  samples[13].record.outcome = Outcome::kCancelled;
  samples[19].measured = false;
  const auto verdict = judge(run_of(std::move(samples), 20.0));
  EXPECT_EQ(verdict.overall.goodput.offered, 18U);
  EXPECT_EQ(verdict.overall.goodput.cancelled, 1U);
  EXPECT_EQ(verdict.overall.goodput.met, 10U);
  EXPECT_EQ(verdict.overall.goodput.met_tokens, 100U);
  EXPECT_DOUBLE_EQ(*verdict.overall.goodput.attainment(), 10.0 / 18.0);
  EXPECT_EQ(verdict.overall.failures[static_cast<std::size_t>(Failure::kReset)], 1U);
  EXPECT_DOUBLE_EQ(verdict.offered_rate, 19.0 / 20.0);
  EXPECT_LE(verdict.overall.attainment.low, 10.0 / 18.0);
  EXPECT_GE(verdict.overall.attainment.high, 10.0 / 18.0);
}

TEST(Verdict, ShowsAPercentileOnlyWithTenSamplesBeyondIt) {
  const auto few = judge(run_of(
      [] {
        std::vector<AnswerSample> samples;
        for (int i = 0; i < 99; ++i) samples.push_back(answer(i, 0.1, 0.01, 2));
        return samples;
      }(),
      99.0));
  EXPECT_TRUE(few.overall.ttft.quantiles[0]);
  EXPECT_FALSE(few.overall.ttft.quantiles[1]);
  const auto many = judge(random_run(1000, 0.1, 1));
  for (const auto& quantile : many.overall.ttft.quantiles) EXPECT_TRUE(quantile);
  for (const auto& interval : many.overall.ttft.intervals) EXPECT_TRUE(interval);
}

TEST(Verdict, AnswersOfOneTokenHaveNoTpotAndDoNotFailForIt) {
  auto sample = answer(0.0, 0.1, 0.0, 1);
  sample.record.targets.tpot = from_seconds(0.001);
  const auto verdict = judge(run_of({sample}, 1.0));
  EXPECT_EQ(verdict.overall.tpot.samples, 0U);
  EXPECT_EQ(verdict.overall.goodput.met, 1U);
}

TEST(Verdict, LongAndShortRequestsAreToldApart) {
  std::vector<AnswerSample> samples;
  for (int i = 0; i < 400; ++i) {
    samples.push_back(answer(i, 0.001 * (1 + i % 40), 0.01, 3));
    samples.back().prompt_tokens = static_cast<std::uint32_t>(100 * (1 + i % 40));
  }
  const auto verdict = judge(run_of(std::move(samples), 400.0));
  ASSERT_EQ(verdict.prompt_quartiles.size(), 4U);
  EXPECT_EQ(verdict.prompt_quartiles[0].name, "100 to 1000");
  EXPECT_EQ(verdict.prompt_quartiles[3].name, "3100 to 4000");
  EXPECT_NEAR(*verdict.prompt_quartiles[0].ttft.quantiles[0], 0.0055, 1e-8);
  EXPECT_NEAR(*verdict.prompt_quartiles[3].ttft.quantiles[0], 0.0355, 1e-8);
  EXPECT_TRUE(verdict.output_quartiles.empty());  // all alike
}

TEST(Verdict, CountsCacheHitsPreemptionsAndRealisedLengths) {
  auto first = answer(0, 0.1, 0.01, 5);
  first.cached_tokens = 60;
  first.preemptions = 2;
  auto second = answer(1, 0.1, 0.01, 5);
  second.cached_tokens = 0;
  second.preemptions = 0;
  second.output_asked = 7;
  const auto verdict = judge(run_of({first, second, answer(2, 0.1, 0.01, 5)}, 3.0));
  EXPECT_DOUBLE_EQ(*verdict.overall.prefix_hit_rate(), 60.0 / 200.0);
  EXPECT_EQ(verdict.overall.preemptions, 2U);
  EXPECT_EQ(verdict.overall.counted, 3U);
  EXPECT_EQ(verdict.overall.prompts_as_asked, 3U);
  EXPECT_EQ(verdict.overall.outputs_as_asked, 2U);
}

TEST(Verdict, TokensCountWhereTheyArriveInsideTheWindow) {
  auto before = answer(-1.0, 0.5, 1.0, 3);  // at -0.5, 0.5, 1.5
  before.measured = false;
  const auto verdict = judge(run_of({before, answer(8.0, 1.0, 1.0, 3)}, 10.0));  // at 9, 10, 11
  EXPECT_DOUBLE_EQ(verdict.output_tokens_per_second, 0.3);
}

TEST(Verdict, SaysThatAnOpenLoadThatPilesUpIsSaturated) {
  std::vector<AnswerSample> piles;
  std::vector<AnswerSample> steady;
  for (int i = 0; i < 200; ++i) {
    piles.push_back(answer(i * 0.1, 0.1 + 0.02 * i, 0.01, 10));
    steady.push_back(answer(i * 0.1, 0.1 + 0.05 * (i % 7), 0.01, 10));
  }
  EXPECT_TRUE(judge(run_of(piles, 20.0)).saturation.saturated);
  EXPECT_FALSE(judge(run_of(piles, 20.0), {.open_load = false}).saturation.saturated);
  EXPECT_FALSE(judge(run_of(std::move(steady), 20.0)).saturation.saturated);
}

TEST(Verdict, ARunThatReachedNoServerIsNotValidAndOneThatItFailedIs) {
  const auto failed = [](const std::vector<Failure>& failures) {
    std::vector<AnswerSample> samples;
    for (const Failure failure : failures) {
      samples.push_back(answer(0.0, 0.1, 0.0, 0));
      samples.back().failure = failure;
      samples.back().record.outcome = Outcome::kFailed;
    }
    return judge(run_of(std::move(samples), 1.0));
  };
  const auto unreached = failed({Failure::kNoConnection, Failure::kUnresolved, Failure::kTls});
  EXPECT_EQ(unreached.faults, std::vector<std::string>{"no request reached the server"});
  for (const Failure failure : {Failure::kReset, Failure::kTimeout, Failure::kHalfAnswer, Failure::kHttpStatus})
    EXPECT_TRUE(failed({Failure::kNoConnection, failure, Failure::kNoConnection}).valid());
}

TEST(Verdict, ARunWithoutRequestsIsNotValid) {
  EXPECT_FALSE(judge(run_of({}, 1.0)).valid());
}

}  // namespace
}  // namespace takt::measure
