// KV memory under pressure: nothing is lost, nothing leaks, and answers stay the same.
#include <gtest/gtest.h>

#include "support/engine_harness.h"

namespace takt {
namespace {

using testing::EngineHarness;
using testing::letters;
using testing::quick_script;

// The pool has room for one.
std::vector<TokenId> alone(const FakeScript& script, std::uint64_t id, const std::vector<TokenId>& prompt) {
  EngineHarness h(script);
  EXPECT_TRUE(h.submit(id, prompt).ok());
  EXPECT_TRUE(h.run());
  return h.events.tokens(id);
}

// B2: pool of 1,024 tokens, four streams of 400: all four finish with the text of the uncontended run.
TEST(EngineMemory, WhenThePoolRunsOutEveryoneStillGetsTheirWholeAnswer) {
  FakeScript script = quick_script();
  script.block_count = 64;
  script.length = 400;
  EngineHarness h(script);
  for (std::uint64_t id = 1; id <= 4; ++id) ASSERT_TRUE(h.submit(id, letters(20, static_cast<std::uint32_t>(id))).ok());
  ASSERT_TRUE(h.run());
  std::uint32_t preempted = 0;
  for (std::uint64_t id = 1; id <= 4; ++id) {
    EXPECT_EQ(h.events.tokens(id), alone(script, id, letters(20, static_cast<std::uint32_t>(id))));
    EXPECT_EQ(h.events.of(id).choices[0].finished->reason, FinishReason::kStop);
    preempted += h.events.of(id).preempted;
    EXPECT_EQ(h.events.of(id).preempted, h.events.of(id).closed->preemptions);
  }
  EXPECT_GT(preempted, 0U);
}

// E2: what a step computes, and so what it costs, follows from the live tokens: not from seats, pool or cached blocks.
TEST(EngineMemory, AStepCostsByLiveTokensWhateverSeatsPoolAndCacheHold) {
  const auto steps_of = [](std::uint32_t seats, std::uint32_t blocks, std::uint64_t earlier_requests) {
    FakeScript script = quick_script();
    script.block_count = blocks;
    script.max_sequences = seats;
    EngineOptions options;
    options.sched.max_sequences = seats;
    EngineHarness h(script, options);
    for (std::uint64_t id = 1; id <= earlier_requests; ++id) {
      std::vector<TokenId> unlike_the_others = letters(300);
      unlike_the_others[0] = static_cast<TokenId>(id);
      EXPECT_TRUE(h.submit(id, unlike_the_others, 10).ok());
      EXPECT_TRUE(h.run());
    }
    h.events.steps.clear();
    for (std::uint64_t id = 1001; id <= 1003; ++id) {
      EXPECT_TRUE(h.submit(id, letters(200, static_cast<std::uint32_t>(id % 7)), 30).ok());
    }
    EXPECT_TRUE(h.run());
    std::vector<Duration> measured;
    for (const StepCommitted& step : h.events.steps) measured.push_back(step.measured);
    return measured;
  };
  const std::vector<Duration> small = steps_of(3, 128, 0);
  EXPECT_FALSE(small.empty());
  EXPECT_EQ(steps_of(64, 8192, 0), small);
  EXPECT_EQ(steps_of(64, 8192, 60), small);
}

// B8: prompt + output beyond the pool is refused at the door, whatever is running.
TEST(EngineMemory, WhatCanNeverFitIsRefusedAtTheDoor) {
  FakeScript script = quick_script();
  script.block_count = 63;  // 1,008 tokens
  EngineHarness h(script);
  const Status refused = h.submit(1, letters(1000), 24);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  const Status too_long = h.submit(2, letters(4000), 97);
  ASSERT_FALSE(too_long.ok());
  EXPECT_EQ(too_long.error().code, ErrorCode::kContextLength);
  EXPECT_TRUE(h.submit(3, letters(1000), 8).ok());
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.events.tokens(3).size(), 8U);
  EXPECT_EQ(h.events.requests.count(1), 0U) << "a refused request produces no event";
}

// B1: seats do not divide the context.
TEST(EngineMemory, AnyRequestMayUseTheWholeContextWhateverTheSeats) {
  FakeScript script = quick_script();
  script.context_tokens = 2048;
  script.block_count = 140;
  script.max_sequences = 64;
  EngineHarness h(script);
  EXPECT_EQ(h.engine->max_request_tokens(), 2048U);
  ASSERT_TRUE(h.submit(1, letters(2000), 48).ok());
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.events.tokens(1).size(), 32U);
}

// B4, B5: 10,000 requests; after every idle period no block is owned. Block rules are checked in every step where
// invariants are compiled in.
TEST(EngineMemory, AfterTenThousandRequestsNoBlockIsOwned) {
  FakeScript script = quick_script();
  script.block_count = 48;
  script.length = 4;
  EngineOptions options;
  options.sched.max_sequences = 8;
  EngineHarness h(script, options);
  h.events.keep_steps = false;
  std::uint64_t id = 0;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 100; ++i) {
      ++id;
      ASSERT_TRUE(
          h.submit(id, letters(1 + static_cast<std::uint32_t>(id * 7 % 60), static_cast<std::uint32_t>(id % 5))).ok());
      if (id % 9 == 0) h.engine->cancel(RequestId(id - 3), CancelCause::kClientGone);
    }
    ASSERT_TRUE(h.run());
    const EngineStatus status = h.engine->status();
    EXPECT_EQ(status.blocks_owned, 0U);
    EXPECT_EQ(status.running + status.waiting, 0U);
    EXPECT_TRUE(status.ready) << status.reason;
  }
  EXPECT_EQ(h.events.requests.size(), 10000U);
  for (auto& [request, history] : h.events.requests) ASSERT_TRUE(history.closed.has_value()) << request;
}

TEST(EngineMemory, CountsOfStepsAddUpToThePool) {
  FakeScript script = quick_script();
  script.block_count = 30;
  EngineHarness h(script);
  for (std::uint64_t id = 1; id <= 5; ++id) ASSERT_TRUE(h.submit(id, letters(60)).ok());
  ASSERT_TRUE(h.run());
  for (const StepCommitted& step : h.events.steps) {
    EXPECT_EQ(step.blocks_free + step.blocks_cached + step.blocks_owned, step.blocks_total);
  }
}

// A prompt takes the blocks of a batch sequence in whose tail its own cached prefix lies: these are not there twice,
// which the next plan of the same turn knows. No step fails for it.
TEST(EngineMemory, APrefixInTheTailOfAVictimFailsNoStep) {
  FakeScript script = quick_script();
  script.block_count = 64;
  script.length = 60;
  EngineHarness h(script);
  const std::vector<TokenId> shared = letters(336, 1);
  EngineRequest batch = h.request(1, shared, 60);
  batch.labels.tier = Tier::kBatch;
  ASSERT_TRUE(h.engine->submit(std::move(batch)).ok());
  ASSERT_TRUE(h.submit(2, letters(470, 5), 40).ok());
  h.step(8);
  std::vector<TokenId> prompt(shared.begin(), shared.begin() + 320);
  const std::vector<TokenId> more = letters(500, 9);
  prompt.insert(prompt.end(), more.begin(), more.end());
  ASSERT_TRUE(h.submit(3, prompt, 10).ok());
  h.step();
  EXPECT_EQ(h.events.of(1).preempted, 1U) << "its blocks were taken";
  ASSERT_TRUE(h.run());
  EXPECT_TRUE(h.events.failures.empty());
  EXPECT_EQ(h.events.tokens(1).size(), 60U);
  EXPECT_EQ(h.events.tokens(2).size(), 40U);
  EXPECT_EQ(h.events.tokens(3).size(), 10U);
}

// A prefix that all members of a class share is held by the class once: its ceiling on blocks leaves room for as many
// members as fit, and for no more.
TEST(EngineMemory, AClassHoldsAPrefixThatItsMembersShareOnce) {
  FakeScript script = quick_script();
  script.block_count = 64;
  script.length = 200;
  EngineOptions options;
  options.sched.classes.resize(1);
  options.sched.classes[0].limits.ceiling.blocks = 0.5;
  EngineHarness h(script, options);
  const auto submit = [&](std::uint64_t id) {
    std::vector<TokenId> prompt = letters(320);
    prompt.push_back(static_cast<TokenId>('a' + id));
    EngineRequest request = h.request(id, std::move(prompt), 150);
    request.service_class = ClassIndex(0);
    ASSERT_TRUE(h.engine->submit(std::move(request)).ok());
  };
  submit(1);
  for (int i = 0; i < 100 && h.events.tokens(1).empty(); ++i) h.step();
  for (std::uint64_t id = 2; id <= 8; ++id) {
    submit(id);
    h.step();
  }
  EXPECT_EQ(h.engine->status().running, 8U) << "20 blocks of all, one of each: 28 of 32";
  for (std::uint64_t id = 9; id <= 20; ++id) submit(id);
  h.step(4);
  EXPECT_EQ(h.engine->status().running, 12U);
  h.engine->cancel(RequestId(1), CancelCause::kClientGone);
  h.step(2);
  EXPECT_EQ(h.engine->status().running, 12U) << "who computed the prefix is gone, and the others hold it";
}

}  // namespace
}  // namespace takt
