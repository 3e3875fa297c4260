// Modes of batching through the whole engine: answers are the same in every mode, only their times differ.
#include <gtest/gtest.h>

#include "support/batching_modes.h"

namespace takt {
namespace {

using std::chrono::milliseconds;
using testing::EngineHarness;
using testing::letters;
using testing::quick_script;
using testing::short_of_blocks;
using testing::static_batches;
using testing::with;

std::vector<EngineOptions> every_mode() {
  std::vector<EngineOptions> modes(8);
  modes[1] = with(static_batches(3));
  modes[2] = with(static_batches(3));
  modes[2].sched.padding = false;
  modes[2].sched.reserve = KvReserve::kContext;
  modes[3].sched.join = JoinRule::kWhenEmpty;
  modes[4].sched.prefill = PrefillRule::kWhole;
  modes[5].sched.admission = AdmissionRule::kWorstCase;
  modes[5].sched.preemption = PreemptionRule::kNone;
  modes[6].sched.admission = AdmissionRule::kPredicted;
  modes[7].sched.reserve = KvReserve::kWorstCase;
  return modes;
}

TEST(EngineModes, EveryModeGivesTheSameAnswers) {
  std::map<std::uint64_t, std::vector<TokenId>> expected;
  for (std::uint64_t id = 1; id <= 12; ++id) {
    EngineHarness h(short_of_blocks());
    ASSERT_TRUE(h.submit(id, letters(static_cast<std::uint32_t>(5 + id * 7), static_cast<std::uint32_t>(id)), 50).ok());
    ASSERT_TRUE(h.run());
    expected[id] = h.events.tokens(id);
  }
  int mode = 0;
  for (const EngineOptions& options : every_mode()) {
    EngineHarness h(short_of_blocks(), options);
    for (std::uint64_t id = 1; id <= 12; ++id) {
      ASSERT_TRUE(
          h.submit(id, letters(static_cast<std::uint32_t>(5 + id * 7), static_cast<std::uint32_t>(id)), 50).ok());
      h.step(2);
    }
    for (int i = 0; i < 5000 && !h.engine->idle(); ++i) {
      if (h.engine->step() == StepOutcome::kDeferred) h.clock.advance(milliseconds(1));
    }
    ASSERT_TRUE(h.engine->idle()) << "mode " << mode;
    for (std::uint64_t id = 1; id <= 12; ++id) EXPECT_EQ(h.events.tokens(id), expected[id]) << "mode " << mode;
    EXPECT_EQ(h.engine->status().blocks_owned, 0U);
    ++mode;
  }
}

TEST(EngineModes, ABatchsAnswersLeaveTogetherAtItsEnd) {
  EngineHarness h(quick_script(), with(static_batches(2)));
  ASSERT_TRUE(h.submit(1, letters(10), 5).ok());
  ASSERT_TRUE(h.submit(2, letters(10, 3), 30).ok());
  ASSERT_TRUE(h.submit(3, letters(10, 4), 5).ok());
  while (!h.events.of(1).closed) h.step();
  EXPECT_TRUE(h.events.of(2).closed.has_value());
  EXPECT_TRUE(h.events.of(2).admitted.has_value());
  EXPECT_FALSE(h.events.of(3).admitted.has_value());
  EXPECT_EQ(h.events.of(1).choices[0].times.front(), h.events.of(2).choices[0].times.back());
  EXPECT_GE(h.events.of(1).choices[0].times.front() - h.events.of(1).admitted_at, 30 * milliseconds(2));
}

// A request that never ran does not wait for the batch to say so.
TEST(EngineModes, AnExpiredOneLeavesWithoutTheBatch) {
  EngineHarness h(quick_script(), with(static_batches(1)));
  ASSERT_TRUE(h.submit(1, letters(10), 1000).ok());
  h.step();
  EngineRequest impatient = h.request(2, letters(10, 5), 5);
  impatient.targets.max_queue_wait = milliseconds(10);
  ASSERT_TRUE(h.engine->submit(std::move(impatient)).ok());
  h.step(10);
  ASSERT_TRUE(h.events.of(2).closed.has_value());
  EXPECT_EQ(h.events.of(2).closed->reason, FinishReason::kExpired);
  EXPECT_FALSE(h.events.of(1).closed.has_value());
}

TEST(EngineModes, ACancelledMemberGivesItsBlocksBackAtOnce) {
  EngineHarness h(quick_script(), with(static_batches(2)));
  ASSERT_TRUE(h.submit(1, letters(100), 500).ok());
  ASSERT_TRUE(h.submit(2, letters(100, 3), 20).ok());
  h.step(3);
  h.engine->cancel(RequestId(1), CancelCause::kClientGone);
  h.step();
  EXPECT_LE(h.engine->status().blocks_owned, 8U);
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.events.of(1).closed->reason, FinishReason::kCancelled);
}

TEST(EngineModes, AWholeContextPerSequenceWastesWhatItDoesNotUse) {
  const auto most_running_and_waste = [](KvReserve reserve) {
    EngineOptions options;
    options.sched.reserve = reserve;
    EngineHarness h(short_of_blocks(), options);
    for (std::uint64_t id = 1; id <= 10; ++id)
      EXPECT_TRUE(h.submit(id, letters(20, static_cast<std::uint32_t>(id)), 20).ok());
    EXPECT_TRUE(h.run());
    std::pair<std::uint32_t, std::uint64_t> most{0, 0};
    for (const StepCommitted& step : h.events.steps) {
      most.first = std::max(most.first, step.running);
      most.second = std::max(most.second, step.unused_cover_tokens);
    }
    return most;
  };
  const auto [paged, paged_waste] = most_running_and_waste(KvReserve::kPaged);
  const auto [context, context_waste] = most_running_and_waste(KvReserve::kContext);
  EXPECT_EQ(paged, 10U);
  EXPECT_LT(paged_waste, 10U * 16);
  EXPECT_EQ(context, 2U) << "40 blocks hold two contexts of 256";
  EXPECT_GT(context_waste, 2U * 200);
}

// The table of docs/scheduling.md: when each answer has left, and how long all took, in milliseconds.
TEST(EngineModes, ThreeLengthsInEveryMode) {
  FakeScript script;
  script.step_cost = milliseconds(10);
  script.token_cost = milliseconds(1);
  script.length = 1000;
  const auto times = [&](const EngineOptions& options) {
    EngineHarness h(script, options);
    const TimePoint start = h.clock.now();
    const std::uint32_t lengths[] = {10, 40, 100};
    for (std::uint64_t id = 1; id <= 3; ++id)
      EXPECT_TRUE(h.submit(id, letters(20, static_cast<std::uint32_t>(id)), lengths[id - 1]).ok());
    // A fourth, as long as the first, comes when the first would be done.
    bool sent = false;
    for (int i = 0; i < 5000 && !(sent && h.engine->idle()); ++i) {
      if (h.engine->step() == StepOutcome::kDeferred) h.clock.advance(milliseconds(1));
      if (sent || h.clock.now() - start < milliseconds(250)) continue;
      EXPECT_TRUE(h.submit(4, letters(20, 9), 10).ok());
      sent = true;
    }
    std::vector<std::int64_t> left;
    for (std::uint64_t id = 1; id <= 4; ++id)
      left.push_back((h.events.of(id).choices[0].times.back() - start) / milliseconds(1));
    return left;
  };
  EngineOptions static_three = with(static_batches(3));
  static_three.sched.window.max_wait = milliseconds(50);
  EngineOptions request_level;
  request_level.sched.join = JoinRule::kWhenEmpty;
  const auto naive = times(static_three);
  const auto by_request = times(request_level);
  const auto continuous = times({});
  for (const auto& left : {naive, by_request, continuous})
    std::cout << left[0] << " " << left[1] << " " << left[2] << " " << left[3] << "\n";
  EXPECT_EQ(naive[0], naive[2]) << "all leave together";
  EXPECT_LT(by_request[0], naive[0] / 4);
  EXPECT_GT(by_request[3], by_request[2]) << "the fourth waits for the batch to end";
  EXPECT_LT(continuous[3], continuous[1]) << "the fourth joins at once";
}

TEST(EngineModes, PaddingCostsTimeAndChangesNoAnswer) {
  const auto time_of = [](bool padding) {
    EngineOptions options = with(static_batches(3));
    options.sched.padding = padding;
    EngineHarness h(quick_script(), options);
    const TimePoint start = h.clock.now();
    EXPECT_TRUE(h.submit(1, letters(10), 2).ok());
    EXPECT_TRUE(h.submit(2, letters(100, 3), 2).ok());
    EXPECT_TRUE(h.submit(3, letters(200, 4), 30).ok());
    EXPECT_TRUE(h.run());
    return h.clock.now() - start;
  };
  // 190 + 100 rows of prompts, and two rows in each of 28 steps, at 0.1 ms each.
  EXPECT_EQ(time_of(true) - time_of(false), std::chrono::microseconds(100) * (290 + 2 * 28));
}

}  // namespace
}  // namespace takt
