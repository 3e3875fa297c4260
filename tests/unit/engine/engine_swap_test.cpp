// Preemption by swap: blocks leave for the arena and come back, and no answer changes, whatever happens to them there.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/engine_harness.h"

namespace takt {
namespace {

using std::chrono::milliseconds;
using testing::EngineHarness;
using testing::letters;
using testing::quick_script;

// A pool of 64 blocks of 16 tokens.
FakeScript small_pool() {
  FakeScript script = quick_script();
  script.block_count = 64;
  script.length = 200;
  return script;
}

EngineOptions with_rule(PreemptionRule rule) {
  EngineOptions options;
  options.sched.preemption = rule;
  options.sched.admission = AdmissionRule::kGreedy;
  options.kv.prefix_cache = false;  // what comes back comes from the arena
  return options;
}

TimedStoreScript roomy_arena() {
  TimedStoreScript arena;
  arena.pages = 256;
  arena.staging_pages = 64;
  arena.out_time = std::chrono::microseconds(200);
  arena.in_time = std::chrono::microseconds(200);
  return arena;
}

std::vector<TokenId> answer_alone(std::uint64_t id, const std::vector<TokenId>& prompt,
                                  std::optional<std::uint32_t> max_tokens) {
  EngineHarness h(small_pool());  // has room for one
  EXPECT_TRUE(h.submit(id, prompt, max_tokens).ok());
  EXPECT_TRUE(h.run());
  return h.events.tokens(id);
}

bool run_with_time(EngineHarness& h) {
  for (int i = 0; i < 200000; ++i) {
    const StepOutcome outcome = h.engine->step();
    if (outcome == StepOutcome::kNoWork && h.engine->idle()) return true;
    if (outcome == StepOutcome::kDeferred) h.clock.advance(milliseconds(1));
  }
  return false;
}

// Batch streams fill the pool; then a realtime prompt takes most of it.
void submit_victims_then_chat(EngineHarness& h, std::uint64_t victims = 2) {
  for (std::uint64_t id = 1; id <= victims; ++id) {
    EngineRequest r = h.request(id, letters(300, static_cast<std::uint32_t>(id)), 150);
    r.labels.tier = Tier::kBatch;
    ASSERT_TRUE(h.engine->submit(std::move(r)).ok());
  }
  h.step(12);
  ASSERT_TRUE(h.submit(100, letters(600, 7), 40).ok());
}

void expect_whole_answers(EngineHarness& h, std::uint64_t victims = 2) {
  for (std::uint64_t id = 1; id <= victims; ++id) {
    EXPECT_EQ(h.events.tokens(id), answer_alone(id, letters(300, static_cast<std::uint32_t>(id)), 150)) << id;
  }
  EXPECT_EQ(h.events.tokens(100), answer_alone(100, letters(600, 7), 40));
}

// H1, B10: preempted by swap under load, resumed without loss.
TEST(EngineSwap, AVictimComesBackFromTheArenaWithNothingToComputeAgain) {
  EngineHarness h(small_pool(), with_rule(PreemptionRule::kSwap), roomy_arena());
  submit_victims_then_chat(h);
  ASSERT_TRUE(run_with_time(h));
  expect_whole_answers(h);
  std::uint32_t swapped = 0;
  for (std::uint64_t id = 1; id <= 2; ++id) {
    swapped += h.events.of(id).swapped_tokens;
    EXPECT_EQ(h.events.of(id).dropped_tokens, 0U);
  }
  EXPECT_GT(swapped, 100U);
  const SwapStatus swap = h.engine->status().swap;
  EXPECT_GT(swap.bytes_out, 0U);
  EXPECT_EQ(swap.bytes_in, swap.bytes_out) << "what left is back";
  EXPECT_EQ(swap.used_bytes, 0U);
  std::uint64_t computed = 0;
  for (const StepCommitted& step : h.events.steps) computed += step.plan.features.tokens;
  EXPECT_EQ(computed, 2 * (300 + 149) + 600 + 39) << "every position was computed once";
}

TEST(EngineSwap, AnswersAreTheSameBitByBitAfterASwapInEveryGroup) {
  for (const std::uint32_t groups : {1U, 2U}) {
    FakeScript script = small_pool();
    script.groups = groups;
    EngineHarness h(script, with_rule(PreemptionRule::kSwap), roomy_arena());
    submit_victims_then_chat(h);
    ASSERT_TRUE(run_with_time(h));
    expect_whole_answers(h);
    EXPECT_GT(h.events.of(1).swapped_tokens + h.events.of(2).swapped_tokens, 0U);
  }
}

// A20: while a sequence comes back, however slowly, the others get their token in every step, and a step is longer by
// the copying alone.
TEST(EngineSwap, OthersDoNotWaitForASequenceThatComesBack) {
  const auto gaps_of_others = [](Duration in_time) {
    FakeScript script = small_pool();
    script.block_count = 128;
    TimedStoreScript arena = roomy_arena();
    arena.in_time = in_time;
    EngineHarness h(script, with_rule(PreemptionRule::kSwap), arena);
    for (std::uint64_t id = 1; id <= 8; ++id) {
      EXPECT_TRUE(h.submit(id, letters(40, static_cast<std::uint32_t>(id)), 199).ok());
    }
    h.step(10);
    EngineRequest victim = h.request(50, letters(800, 3), 100);
    victim.labels.tier = Tier::kBatch;
    EXPECT_TRUE(h.engine->submit(std::move(victim)).ok());
    h.step(20);
    EXPECT_TRUE(h.submit(60, letters(700, 5), 10).ok());
    EXPECT_TRUE(run_with_time(h));
    EXPECT_GT(h.events.of(50).swapped_tokens, 0U);
    std::vector<double> decode_steps;
    for (const StepCommitted& step : h.events.steps) {
      if (step.plan.features.tokens == step.plan.features.decode_rows && step.plan.features.decode_rows >= 8)
        decode_steps.push_back(to_seconds(step.measured) / step.plan.features.decode_rows);
    }
    EXPECT_GT(decode_steps.size(), 20U);
    return *std::max_element(decode_steps.begin(), decode_steps.end());
  };
  EXPECT_LT(gaps_of_others(milliseconds(20)), 1.1 * gaps_of_others(Duration(1)));
}

// What a step copies back is a small part of what its rows take, or one page, and known to the step-time model.
TEST(EngineSwap, AStepIsLengthenedLittleByWhatItCopiesBack) {
  FakeScript script = small_pool();
  script.copy_cost = std::chrono::microseconds(50);
  EngineHarness h(script, with_rule(PreemptionRule::kSwap), roomy_arena());
  submit_victims_then_chat(h);
  ASSERT_TRUE(run_with_time(h));
  expect_whole_answers(h);
  std::uint32_t steps_with_swap_ins = 0;
  for (const StepCommitted& step : h.events.steps) {
    if (step.plan.swap_ins.empty() || !step.plan.drops.empty()) continue;
    ++steps_with_swap_ins;
    const Duration copies = script.copy_cost * step.plan.features.swapped_blocks;
    EXPECT_LE(to_seconds(copies), std::max(to_seconds(script.copy_cost), 0.05 * to_seconds(step.measured - copies)));
    EXPECT_NEAR(to_seconds(step.measured), to_seconds(step.plan.predicted), 0.2 * to_seconds(step.measured));
  }
  EXPECT_GT(steps_with_swap_ins, 5U);
}

// What a chat needs and cannot be copied in one step leaves in the next ones; it is not computed again.
TEST(EngineSwap, ALongTailLeavesInSeveralSteps) {
  FakeScript script = small_pool();
  script.copy_cost = milliseconds(5);
  EngineHarness h(script, with_rule(PreemptionRule::kSwap), roomy_arena());
  submit_victims_then_chat(h);
  ASSERT_TRUE(run_with_time(h));
  expect_whole_answers(h);
  int steps_with_copies = 0;
  for (const StepCommitted& step : h.events.steps) {
    if (step.plan.drops.empty()) continue;
    steps_with_copies += step.plan.features.swapped_blocks > 0 ? 1 : 0;
    EXPECT_LE(script.copy_cost * step.plan.features.swapped_blocks, step.plan.budget * 3 / 10);
  }
  EXPECT_GT(steps_with_copies, 2);
  // Two streams may need a block in the same later step, which has time for one copy.
  EXPECT_LE(h.events.of(1).dropped_tokens + h.events.of(2).dropped_tokens, 32U);
  EXPECT_GT(h.events.of(1).swapped_tokens + h.events.of(2).swapped_tokens, 200U);
}

// It lost its seat and kept its blocks; when the stream that took it grows, they go, and that is told too.
TEST(EngineSwap, WhatIsTakenFromAWaitingSequenceIsTold) {
  EngineOptions options = with_rule(PreemptionRule::kSwap);
  options.sched.max_sequences = 1;
  EngineHarness h(small_pool(), options, roomy_arena());
  EngineRequest batch = h.request(1, letters(340, 1), 150);
  batch.labels.tier = Tier::kBatch;
  ASSERT_TRUE(h.engine->submit(std::move(batch)).ok());
  h.step(12);
  ASSERT_TRUE(h.submit(100, letters(600, 7), 199).ok());
  ASSERT_TRUE(run_with_time(h));
  EXPECT_EQ(h.events.of(1).preempted, 1U);
  EXPECT_GT(h.events.of(1).tails_taken, 0U);
  EXPECT_GT(h.events.of(1).swapped_tokens, 0U);
  EXPECT_EQ(h.events.tokens(1), answer_alone(1, letters(340, 1), 150));
}

// B12: cancelled on its way out, while it is out, and on its way back: 10 rounds, and the arena is empty after each.
TEST(EngineSwap, CancellingSwappedRequestsFreesTheArena) {
  TimedStoreScript slow = roomy_arena();
  slow.out_time = slow.in_time = milliseconds(3);
  EngineHarness h(small_pool(), with_rule(PreemptionRule::kSwap), slow);
  std::uint64_t id = 0;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = id + 1;
    for (int i = 0; i < 3; ++i) {
      ++id;
      EngineRequest r = h.request(id, letters(200, static_cast<std::uint32_t>(id)), 180);
      r.labels.tier = Tier::kBatch;
      ASSERT_TRUE(h.engine->submit(std::move(r)).ok());
    }
    for (int i = 0; i < 100 && h.events.tokens(id).empty(); ++i) h.step(1);
    const std::uint64_t chat = ++id;
    ASSERT_TRUE(h.submit(chat, letters(700, 7), 8).ok());
    h.step(1 + round * 2);
    EXPECT_GT(h.engine->status().swap.used_bytes, 0U) << "round " << round;
    for (std::uint64_t victim = first; victim < chat; ++victim)
      h.engine->cancel(RequestId(victim), CancelCause::kClientGone);
    ASSERT_TRUE(run_with_time(h));
    h.clock.advance(milliseconds(5000));  // transfers that were under way
    h.step(2);
    EXPECT_EQ(h.engine->status().swap.used_bytes, 0U) << "round " << round;
    EXPECT_EQ(h.engine->status().blocks_owned, 0U);
  }
  EXPECT_FALSE(h.engine->status().failed);
}

TEST(EngineSwap, AFailedWriteOrReadOrAChangedPageIsComputedAgainAndNeverAWrongToken) {
  for (int kind = 0; kind < 3; ++kind) {
    for (const std::uint32_t every : {1U, 2U, 7U}) {
      TimedStoreScript arena = roomy_arena();
      (kind == 0 ? arena.fail_out_every : kind == 1 ? arena.fail_in_every : arena.change_in_every) = every;
      EngineHarness h(small_pool(), with_rule(PreemptionRule::kSwap), arena);
      submit_victims_then_chat(h);
      ASSERT_TRUE(run_with_time(h));
      expect_whole_answers(h);
      EXPECT_GT(h.events.of(1).swaps_lost + h.events.of(2).swaps_lost, 0U);
      const SwapStatus swap = h.engine->status().swap;
      EXPECT_GT(swap.failed_reads + swap.failed_writes, 0U);
      EXPECT_FALSE(h.engine->status().failed);
    }
  }
}

TEST(EngineSwap, ADiskThatNeverAnswersHoldsNobodyForEver) {
  TimedStoreScript arena = roomy_arena();
  arena.in_time = std::chrono::hours(1);
  EngineHarness h(small_pool(), with_rule(PreemptionRule::kSwap), arena);
  submit_victims_then_chat(h);
  ASSERT_TRUE(run_with_time(h));
  expect_whole_answers(h);
  EXPECT_LT(h.clock.now() - TimePoint{}, std::chrono::minutes(5));
}

// B20: what does not fit the arena, or its buffers, is dropped and computed again.
TEST(EngineSwap, TheArenaNeverHoldsMoreThanItsSize) {
  for (const bool small_staging : {false, true}) {
    TimedStoreScript arena = roomy_arena();
    (small_staging ? arena.staging_pages : arena.pages) = 6;
    EngineHarness h(small_pool(), with_rule(PreemptionRule::kSwap), arena);
    submit_victims_then_chat(h);
    std::uint64_t most = 0;
    for (int i = 0; i < 100000 && !h.engine->idle(); ++i) {
      if (h.engine->step() == StepOutcome::kDeferred) h.clock.advance(milliseconds(1));
      const SwapStatus swap = h.engine->status().swap;
      most = std::max(most, swap.used_bytes);
      ASSERT_LE(swap.used_bytes, swap.arena_bytes);
    }
    ASSERT_TRUE(h.engine->idle());
    expect_whole_answers(h);
    EXPECT_GT(h.events.of(1).dropped_tokens + h.events.of(2).dropped_tokens, 0U);
  }
}

TEST(EngineSwap, AFailedStepChangesNothingInTheArena) {
  std::uint64_t first = 8;  // each kind of failure hits other steps
  for (const FakeFailure failure : {FakeFailure::kOnce, FakeFailure::kThrow, FakeFailure::kSubmit}) {
    for (std::uint64_t step = first; step < 60; step += 13) {
      FakeScript script = small_pool();
      script.fail = failure;
      script.fail_step = step;
      EngineHarness h(script, with_rule(PreemptionRule::kSwap), roomy_arena());
      submit_victims_then_chat(h);
      ASSERT_TRUE(run_with_time(h));
      expect_whole_answers(h);
      EXPECT_EQ(h.engine->status().swap.used_bytes, 0U);
    }
    first += 4;
  }
}

TEST(EngineSwap, AutoTakesTheQuickerWay) {
  TimedStoreScript slow = roomy_arena();
  slow.out_time = slow.in_time = milliseconds(500);
  for (const bool arena_is_slow : {false, true}) {
    TimedStoreScript arena = roomy_arena();
    arena.out_time = arena.in_time = std::chrono::microseconds(1);
    EngineHarness h(small_pool(), with_rule(PreemptionRule::kAuto), arena_is_slow ? slow : arena);
    submit_victims_then_chat(h);
    ASSERT_TRUE(run_with_time(h));
    expect_whole_answers(h);
    const std::uint32_t swapped = h.events.of(1).swapped_tokens + h.events.of(2).swapped_tokens;
    EXPECT_EQ(swapped == 0, arena_is_slow);
  }
}

TEST(EngineSwap, WithoutAnArenaSwapAndAutoRecompute) {
  for (const PreemptionRule rule : {PreemptionRule::kSwap, PreemptionRule::kAuto}) {
    EngineHarness h(small_pool(), with_rule(rule));
    submit_victims_then_chat(h);
    ASSERT_TRUE(run_with_time(h));
    expect_whole_answers(h);
    EXPECT_GT(h.events.of(1).dropped_tokens + h.events.of(2).dropped_tokens, 0U);
  }
}

TEST(EngineSwap, DrainAndStopWithTransfersUnderWayEndCleanly) {
  TimedStoreScript slow = roomy_arena();
  slow.out_time = slow.in_time = milliseconds(400);
  for (int steps = 1; steps < 40; steps += 6) {
    EngineHarness h(small_pool(), with_rule(PreemptionRule::kSwap), slow);
    submit_victims_then_chat(h);
    h.step(steps);
    if (steps % 4 == 1) h.engine->begin_drain(h.clock.now() + milliseconds(1));
    h.engine->stop();
    EXPECT_TRUE(h.engine->idle());
    for (const std::uint64_t id : {1U, 2U, 100U}) EXPECT_TRUE(h.events.of(id).closed.has_value());
    EXPECT_EQ(h.engine->status().blocks_owned, 0U);
  }
}

// Promise 4: while it is out, it waits for a place; once it has one, for its copy.
TEST(EngineSwap, TheWaitForTheCopyHasItsOwnReason) {
  TimedStoreScript slow = roomy_arena();
  slow.in_time = milliseconds(10);
  EngineHarness h(small_pool(), with_rule(PreemptionRule::kSwap), slow);
  submit_victims_then_chat(h);
  ASSERT_TRUE(run_with_time(h));
  Duration waited{0};
  for (std::uint64_t id = 1; id <= 2; ++id)
    waited += h.events.of(id).closed->waited[static_cast<std::size_t>(WaitReason::kSwappedOut)];
  EXPECT_GT(waited, Duration::zero());
}

// What comes back takes blocks from the prefix cache, but not those that somebody who starts in the same step goes on
// from: the step does not fail, and nothing of the prefix is computed again.
TEST(EngineSwap, WhoStartsWhileAnotherComesBackKeepsItsPrefix) {
  FakeScript script = small_pool();
  script.block_count = 100;
  EngineOptions options = with_rule(PreemptionRule::kSwap);
  options.kv.prefix_cache = true;
  options.kv.linger = Duration::zero();
  EngineHarness h(script, options, roomy_arena());
  EngineRequest victim = h.request(1, letters(460, 1), 150);
  victim.labels.tier = Tier::kBatch;
  ASSERT_TRUE(h.engine->submit(std::move(victim)).ok());
  h.step(12);
  ASSERT_TRUE(h.submit(2, letters(1150, 7), 30).ok());
  h.step(6);
  std::vector<TokenId> prompt = letters(320, 3);
  ASSERT_TRUE(h.submit(3, prompt, 1).ok());
  while (!h.events.of(2).closed) h.step();
  ASSERT_TRUE(h.events.of(3).closed.has_value());
  ASSERT_GT(h.events.of(1).swapped_tokens, 200U);
  const std::vector<TokenId> more = letters(5, 11);
  prompt.insert(prompt.end(), more.begin(), more.end());
  ASSERT_TRUE(h.submit(4, prompt, 10).ok());
  h.step();
  ASSERT_FALSE(h.events.steps.back().plan.swap_ins.empty()) << "both in one step";
  ASSERT_TRUE(h.events.of(4).admitted.has_value());
  EXPECT_EQ(h.events.of(4).admitted->cached_tokens, 320U);
  ASSERT_TRUE(run_with_time(h));
  EXPECT_TRUE(h.events.failures.empty());
  EXPECT_EQ(h.events.tokens(1), answer_alone(1, letters(460, 1), 150));
}

// Two that their class's ceiling holds up are first in line; who has a seat and blocks is read from the arena all the
// same.
TEST(EngineSwap, WhoWaitsForItsClassesCeilingKeepsNobodyFromComingBack) {
  FakeScript script = small_pool();
  script.length = 400;
  EngineOptions options = with_rule(PreemptionRule::kSwap);
  options.sched.classes.resize(2);
  for (EngineClass& c : options.sched.classes) c.limits.tier = Tier::kBatch;
  EngineHarness h(script, options, roomy_arena());
  const auto submit = [&](std::uint64_t id, std::uint32_t service_class, std::uint32_t most) {
    EngineRequest r = h.request(id, letters(150, static_cast<std::uint32_t>(id)), most);
    r.labels.tier = Tier::kBatch;
    r.service_class = ClassIndex(service_class);
    ASSERT_TRUE(h.engine->submit(std::move(r)).ok());
  };
  for (std::uint64_t id = 1; id <= 3; ++id) submit(id, 0, 350);
  submit(4, 1, 40);
  h.step(12);
  ASSERT_TRUE(h.submit(100, letters(900, 7), 5).ok());
  while (!h.events.of(100).admitted) h.step();
  options.sched.classes[0].limits.ceiling.seats = 1;
  ASSERT_TRUE(h.engine->check(options).ok());
  h.engine->reconfigure(options);
  for (int i = 0; i < 2000 && !h.events.of(4).closed; ++i) {
    if (h.engine->step() == StepOutcome::kDeferred) h.clock.advance(milliseconds(1));
  }
  ASSERT_TRUE(h.events.of(4).closed.has_value());
  EXPECT_GT(h.events.of(4).swapped_tokens, 0U);
  EXPECT_FALSE(h.events.of(1).closed.has_value()) << "it did not have to wait for the end of the first";
  ASSERT_TRUE(run_with_time(h));
}

}  // namespace
}  // namespace takt
