// Static, request-level and continuous batching as settings of one scheduler. One token costs 1 ms, a step 1 ms.
#include <gtest/gtest.h>

#include "sched/join_gate.h"
#include "support/scheduler_world.h"
#include "unit/sched/scheduler_driver.h"

namespace takt {
namespace {

using std::chrono::milliseconds;
using testing::SchedulerDriver;
using testing::SchedulerWorld;

SchedulerOptions whole_prompts() {
  SchedulerOptions o;
  o.planning_margin = 0;
  o.step_overhead = 0;
  o.prefill = PrefillRule::kWhole;
  return o;
}

SchedulerOptions static_batches(std::uint32_t size, milliseconds timeout) {
  SchedulerOptions o = whole_prompts();
  o.join = JoinRule::kWhenEmpty;
  o.max_sequences = size;
  o.window.min_batch = size;
  o.window.max_wait = timeout;
  o.window.adaptive = false;
  return o;
}

WaitReason first_reason(const SchedulerDriver& d) {
  return d.last.waits.empty() ? WaitReason::kNone : d.last.waits.front().reason;
}

// Runs a step and ends those that have reached their limit.
std::string step_and_end(SchedulerDriver& d, const std::map<std::uint64_t, std::uint32_t>& limits) {
  const std::string line = d.step();
  std::vector<SequenceId> over;
  for (const SequenceView& s : d.scheduler.look(1000)) {
    const auto limit = limits.find(s.sequence.value);
    if (limit != limits.end() && s.known >= limit->second) over.push_back(s.sequence);
  }
  for (const SequenceId id : over) d.scheduler.remove(id, d.now);
  return line;
}

TEST(BatchingModes, WholePromptsIgnoreTheTimeBudgetAndGoInOneStep) {
  SchedulerDriver d(whole_prompts());
  d.add(1, 10);
  d.step();
  d.add(2, 600);
  d.add(3, 700);
  EXPECT_EQ(d.step(), "1:1! 2:600! 3:700!");
  EXPECT_GT(d.last.predicted, d.last.budget);
}

TEST(BatchingModes, WholePromptsBeyondTheRowsOfAStepGoInPieces) {
  SchedulerOptions o = whole_prompts();
  o.max_step_tokens = 512;
  SchedulerDriver d(o);
  d.add(1, 1000);
  d.add(2, 100);
  d.expect_steps({"1:512", "1:488!", "1:1! 2:100!"});
}

TEST(BatchingModes, AStaticBatchWaitsForItsSizeOrItsTimeout) {
  SchedulerDriver d(static_batches(3, milliseconds(100)));
  d.add(1, 4);
  EXPECT_EQ(d.step(), "");
  EXPECT_EQ(first_reason(d), WaitReason::kWindow);
  d.add(2, 4);
  EXPECT_EQ(d.step(), "");
  d.add(3, 4);
  EXPECT_EQ(d.step(), "1:4! 2:4! 3:4!");

  SchedulerDriver late(static_batches(3, milliseconds(100)));
  late.add(1, 4);
  const TimePoint start = late.now;
  while (late.step().empty()) {
  }
  EXPECT_EQ(late.last.entries.size(), 1U);
  EXPECT_GE(late.now - start, milliseconds(100));
  EXPECT_LE(late.now - start, milliseconds(110));
  EXPECT_GE(late.scheduler.waited(SequenceId(1), late.now)[static_cast<std::size_t>(WaitReason::kWindow)],
            milliseconds(99));
}

TEST(BatchingModes, NobodyJoinsARunningStaticBatch) {
  SchedulerDriver d(static_batches(2, milliseconds(50)));
  const std::map<std::uint64_t, std::uint32_t> limits = {{1, 8}, {2, 20}, {3, 8}, {4, 8}};
  for (std::uint64_t id = 1; id <= 4; ++id) d.add(id, 4, 100);
  EXPECT_EQ(step_and_end(d, limits), "1:4! 2:4!");
  int steps_of_two = 0;
  std::string line;
  while ((line = step_and_end(d, limits)).find("3:") == std::string::npos) {
    if (line.find("2:") != std::string::npos) ++steps_of_two;
    EXPECT_EQ(first_reason(d), WaitReason::kBatchEnd) << line;
  }
  EXPECT_EQ(steps_of_two, 15) << "the batch lasts as long as its longest answer";
  EXPECT_EQ(line, "3:4! 4:4!");
}

TEST(BatchingModes, WhoFindsNoBlocksWhileABatchFormsWaitsForItsEnd) {
  SchedulerDriver d(static_batches(3, milliseconds(50)), 10);
  const std::map<std::uint64_t, std::uint32_t> limits = {{1, 70}, {2, 100}, {3, 70}};
  d.add(1, 64, 6);
  d.add(2, 64, 36);
  d.add(3, 64, 6);
  EXPECT_EQ(step_and_end(d, limits), "1:64! 2:64!");
  std::string line;
  bool first_is_gone = false;
  for (int i = 0; i < 100 && (line = step_and_end(d, limits)).find("3:") == std::string::npos; ++i) {
    if (line.find("1:") == std::string::npos && line.find("2:") != std::string::npos) first_is_gone = true;
  }
  EXPECT_TRUE(first_is_gone) << "there were blocks for it before the end";
  EXPECT_EQ(line, "3:64!");
}

TEST(BatchingModes, PaddingMakesPromptsAsWideAsTheWidestAndKeepsRowsOfEndedOnes) {
  SchedulerOptions o = static_batches(3, milliseconds(50));
  o.padding = true;
  SchedulerDriver d(o);
  const std::map<std::uint64_t, std::uint32_t> limits = {{1, 12}, {2, 32}, {3, 52}};
  d.add(1, 10, 2);
  d.add(2, 20, 12);
  d.add(3, 50, 2);
  EXPECT_EQ(step_and_end(d, limits), "1:10! 2:20! 3:50!");
  EXPECT_EQ(d.last.features.padding_rows, 40U + 30U);
  EXPECT_EQ(d.last.features.tokens, 150U);
  EXPECT_EQ(step_and_end(d, limits), "1:1! 2:1! 3:1!");
  EXPECT_EQ(d.last.features.padding_rows, 0U);
  EXPECT_EQ(step_and_end(d, limits), "2:1!");
  EXPECT_EQ(d.last.features.padding_rows, 2U);
  EXPECT_EQ(d.last.features.tokens, 3U);
}

TEST(BatchingModes, PaddedPromptsThatDoNotFitOneStepGoInSeveral) {
  SchedulerOptions o = static_batches(3, milliseconds(50));
  o.padding = true;
  o.max_step_tokens = 128;
  SchedulerDriver d(o);
  d.add(1, 10);
  d.add(2, 60);
  d.add(3, 50);
  EXPECT_EQ(d.step(), "1:10! 2:60!");
  EXPECT_EQ(d.last.features.tokens, 120U);
  EXPECT_EQ(d.step(), "1:1! 2:1! 3:50!") << "the batch was still forming";
}

TEST(BatchingModes, RequestLevelBatchesTakeWhoWaitsAndAnswersLeaveAlone) {
  SchedulerOptions o = whole_prompts();
  o.join = JoinRule::kWhenEmpty;
  SchedulerDriver d(o);
  const std::map<std::uint64_t, std::uint32_t> limits = {{1, 6}, {2, 9}, {3, 8}};
  d.add(1, 4);
  EXPECT_EQ(step_and_end(d, limits), "1:4!") << "nobody to wait for";
  d.add(2, 4);
  d.add(3, 4);
  EXPECT_EQ(step_and_end(d, limits), "1:1!");
  EXPECT_EQ(step_and_end(d, limits), "2:4! 3:4!");
}

TEST(BatchingModes, AnAdaptiveWindowHoldsOnlyWhileOthersRun) {
  SchedulerOptions o;
  o.planning_margin = 0;
  o.step_overhead = 0;
  o.window.min_batch = 3;
  o.window.max_wait = milliseconds(20);
  SchedulerDriver d(o);
  d.add(1, 4);
  EXPECT_EQ(d.step(), "1:4!") << "a lone request at night waits for nobody";
  d.add(2, 4);
  EXPECT_EQ(d.step(), "1:1!");
  EXPECT_EQ(first_reason(d), WaitReason::kWindow);
  d.add(3, 4);
  d.add(4, 4);
  EXPECT_EQ(d.step(), "1:1! 2:4! 3:4! 4:4!");
  d.add(5, 4);
  const TimePoint start = d.now;
  while (d.step().find("5:") == std::string::npos) {
  }
  EXPECT_LE(d.now - start, milliseconds(20 + 5 + 9)) << "the window, the step before its end, and its own step";
}

TEST(BatchingModes, AServedRatioWindowWaitsForAShareOfThoseWhoRun) {
  WindowOptions window;
  window.served_ratio = 0.5;
  window.max_wait = milliseconds(100);
  EXPECT_TRUE(window_opens(window, {1, 2, milliseconds(0)}));
  EXPECT_FALSE(window_opens(window, {1, 3, milliseconds(0)}));
  EXPECT_TRUE(window_opens(window, {2, 3, milliseconds(0)}));
  EXPECT_TRUE(window_opens(window, {1, 8, milliseconds(100)}));
  EXPECT_TRUE(window_opens(window, {1, 0, milliseconds(0)}));
  EXPECT_FALSE(window_opens(window, {0, 0, milliseconds(100)}));
}

TEST(BatchingModes, WorstCaseAdmissionNeverPreempts) {
  SchedulerOptions o;
  o.planning_margin = 0;
  o.step_overhead = 0;
  o.watermark = 0;
  o.admission = AdmissionRule::kWorstCase;
  o.preemption = PreemptionRule::kNone;
  SchedulerDriver d(o, 13);
  std::map<std::uint64_t, std::uint32_t> limits;
  for (std::uint64_t id = 1; id <= 6; ++id) {
    d.add(id, 16, 48);  // 4 blocks at its end
    limits[id] = 64;
  }
  std::uint32_t most_running = 0;
  for (int i = 0; i < 400 && d.scheduler.counts().running + d.scheduler.counts().waiting > 0; ++i) {
    EXPECT_EQ(step_and_end(d, limits).find('-'), std::string::npos);
    most_running = std::max(most_running, d.scheduler.counts().running);
  }
  EXPECT_EQ(d.scheduler.counts().waiting, 0U);
  EXPECT_EQ(most_running, 3U) << "three of four blocks each fit into 13";
}

// What a preempted sequence may still need is reserved once, not once as its own and once as somebody's who is in.
TEST(BatchingModes, APreemptedSequenceNeedsNoRoomForItselfTwice) {
  for (const AdmissionRule rule : {AdmissionRule::kWorstCase, AdmissionRule::kPredicted}) {
    SchedulerOptions o;
    o.planning_margin = 0;
    o.step_overhead = 0;
    o.watermark = 0;
    o.batch_min_share = 0;
    o.max_sequences = 2;
    o.admission = rule;
    SchedulerWorld w(o, rule == AdmissionRule::kWorstCase ? 22 : 30);
    w.add(32, 128, 0, Tier::kBatch);
    const SequenceId newer = w.add(32, 128, 0, Tier::kBatch);
    w.step();
    ASSERT_EQ(w.running(), 2U);
    const SequenceId chat = w.add(16, 16);
    w.step();
    ASSERT_TRUE(w.alive.at(chat).runs);
    ASSERT_FALSE(w.alive.at(newer).runs);
    while (w.alive.contains(chat)) w.step();
    w.step();
    EXPECT_TRUE(w.alive.at(newer).runs);
    EXPECT_EQ(w.broken, "");
  }
}

TEST(BatchingModes, PredictedAdmissionGoesByEarlierLengths) {
  SchedulerOptions o;
  o.planning_margin = 0;
  o.step_overhead = 0;
  o.watermark = 0;
  const auto together = [&](AdmissionRule rule, std::uint32_t earlier_length) {
    o.admission = rule;
    SchedulerDriver d(o, 24);
    for (std::uint64_t id = 1; id <= 20; ++id) {
      d.add(id, 16, 200);
      for (std::uint32_t i = 0; i < earlier_length; ++i) d.step();
      d.scheduler.note_length(SequenceId(id));
      d.scheduler.remove(SequenceId(id), d.now);
    }
    for (std::uint64_t id = 101; id <= 110; ++id) d.add(id, 16, 200);  // 14 blocks at their limit
    d.step();
    return d.scheduler.counts().running;
  };
  EXPECT_EQ(together(AdmissionRule::kWorstCase, 10), 1U);
  EXPECT_EQ(together(AdmissionRule::kGreedy, 10), 10U);
  // One block of each, ten (a hundred) tokens of growth and up to fifteen lost to rounding: n + 25n / 16 (115n / 16).
  EXPECT_EQ(together(AdmissionRule::kPredicted, 10), 9U);
  EXPECT_EQ(together(AdmissionRule::kPredicted, 100), 2U);
}

TEST(BatchingModes, AReserveIsTakenAtAdmission) {
  SchedulerDriver d(whole_prompts(), 10);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    SequenceFacts facts;
    facts.id = SequenceId(id);
    facts.prompt_tokens = 10;
    facts.limit_tokens = 20;
    facts.reserve_tokens = 64;  // 4 blocks
    d.scheduler.add(facts, d.now);
  }
  EXPECT_EQ(d.step(), "1:10! 2:10!");
  EXPECT_EQ(d.last.entries[0].cover_tokens, 64U);
  EXPECT_EQ(d.scheduler.unused_cover(), 2U * (64 - 11));
  EXPECT_EQ(first_reason(d), WaitReason::kBlocks);
}

TEST(BatchingModes, WhereNobodyGrowsNoWatermarkIsKept) {
  for (const auto& [reserve, fit] :
       {std::pair{KvReserve::kContext, 2U}, {KvReserve::kWorstCase, 2U}, {KvReserve::kPaged, 1U}}) {
    SchedulerOptions o = whole_prompts();
    o.reserve = reserve;
    o.watermark = 0.5;
    SchedulerDriver d(o, 8);
    for (std::uint64_t id = 1; id <= 3; ++id) {
      SequenceFacts facts;
      facts.id = SequenceId(id);
      facts.prompt_tokens = 64;  // 4 blocks, which is all it may have
      facts.limit_tokens = 64;
      facts.reserve_tokens = reserve == KvReserve::kPaged ? 0 : 64;
      d.scheduler.add(facts, d.now);
    }
    d.step();
    EXPECT_EQ(d.scheduler.counts().running, fit);
  }
}

TEST(LengthForecast, IsTheEightyPercentPointOfThoseThatWereLonger) {
  LengthForecast forecast;
  EXPECT_EQ(forecast.remaining(0, 100), 100U);
  EXPECT_EQ(forecast.remaining(0, 10000), LengthForecast::kBeforeData);
  for (std::uint32_t i = 1; i <= 100; ++i) forecast.observe(i);
  EXPECT_EQ(forecast.remaining(0, 1000), 80U);
  EXPECT_EQ(forecast.remaining(50, 1000), 40U);
  EXPECT_EQ(forecast.remaining(50, 60), 10U);
  EXPECT_EQ(forecast.remaining(90, 1000), LengthForecast::kBeforeData) << "too few were longer";
  for (std::uint32_t i = 0; i < LengthForecast::kKept; ++i) forecast.observe(7);
  EXPECT_EQ(forecast.remaining(0, 1000), 7U) << "old ones are forgotten";
}

TEST(LengthForecast, ThePeakCountsWhatEndsBefore) {
  const auto peak = [](std::vector<LengthOutlook> all) { return peak_growth(all, 0); };
  EXPECT_EQ(peak({{16, 16, 10}}), 10U);
  EXPECT_EQ(peak({{16, 16, 10}, {16, 16, 10}}), 20U);
  EXPECT_EQ(peak({{100, 100, 5}, {16, 16, 50}}), 10U) << "the first gives its hundred back after five";
  EXPECT_EQ(peak({{10, 10, 5}, {16, 16, 50}}), 40U);
  EXPECT_EQ(peak({}), 0U);
}

}  // namespace
}  // namespace takt
