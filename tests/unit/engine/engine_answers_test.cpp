// What a request gets: complete answers, exact counts, one end, the right reason.
#include <gtest/gtest.h>

#include <set>

#include "support/engine_harness.h"

namespace takt {
namespace {

using std::chrono::milliseconds;
using testing::EngineHarness;
using testing::letters;
using testing::quick_script;

// What the request is answered with when it is alone on a big pool.
std::vector<TokenId> alone(std::uint64_t id, const std::vector<TokenId>& prompt,
                           std::optional<std::uint32_t> max_tokens = {}) {
  EngineHarness h(quick_script());
  EXPECT_TRUE(h.submit(id, prompt, max_tokens).ok());
  EXPECT_TRUE(h.run());
  return h.events.tokens(id);
}

TEST(EngineAnswers, ARequestGetsItsTokensThenOneEndAndIsClosed) {
  EngineHarness h(quick_script());
  ASSERT_TRUE(h.submit(1, letters(40)).ok());
  ASSERT_TRUE(h.run());
  auto& history = h.events.of(1);
  ASSERT_TRUE(history.closed.has_value());
  EXPECT_EQ(history.choices[0].tokens.size(), 32U);
  EXPECT_EQ(history.choices[0].finished->reason, FinishReason::kStop);
  EXPECT_EQ(history.choices[0].finished->generated_tokens, 32U);
  EXPECT_EQ(history.closed->phase, RequestPhase::kDecode);
  EXPECT_EQ(history.closed->seed, 1001U);
  EXPECT_EQ(history.events_after_close, 0);
}

TEST(EngineAnswers, TheWaitEndsWhenTheStepIsPlannedAndItsTimeIsNoWait) {
  FakeScript script = quick_script();
  EngineOptions options;
  options.sched.max_sequences = 1;
  EngineHarness h(script, options);
  const TimePoint start = h.clock.now();
  ASSERT_TRUE(h.submit(1, letters(200), 4).ok());
  ASSERT_TRUE(h.submit(2, letters(40, 3), 4).ok());
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.events.of(1).admitted_at, start);
  EXPECT_GT(h.events.of(1).choices[0].times.front(), start + milliseconds(20));
  EXPECT_EQ(h.events.of(2).admitted_at, h.events.of(1).choices[0].times.back());
}

TEST(EngineAnswers, MaxTokensEndsAsLength) {
  EngineHarness h(quick_script());
  ASSERT_TRUE(h.submit(1, letters(5), 7).ok());
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.events.tokens(1).size(), 7U);
  EXPECT_EQ(h.events.of(1).choices[0].finished->reason, FinishReason::kLength);
}

TEST(EngineAnswers, MinTokensHoldsEndTokensBack) {
  FakeScript script = quick_script();
  script.length = 3;
  EngineHarness h(script);
  EngineRequest request = h.request(1, letters(5));
  request.min_tokens = 10;
  ASSERT_TRUE(h.engine->submit(std::move(request)).ok());
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.events.tokens(1).size(), 10U);
  EXPECT_EQ(h.events.of(1).choices[0].finished->reason, FinishReason::kStop);
}

TEST(EngineAnswers, WithoutMaxTokensTheContextEndsAsLength) {
  FakeScript script = quick_script();
  script.context_tokens = 64;
  script.length = 1000;
  EngineHarness h(script);
  ASSERT_TRUE(h.submit(1, letters(50)).ok());
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.events.tokens(1).size(), 14U);
  EXPECT_EQ(h.events.of(1).choices[0].finished->reason, FinishReason::kLength);
}

// B9: one request that would outgrow the pool ends as length; nothing else happens.
TEST(EngineAnswers, WithoutMaxTokensThePoolEndsAsLength) {
  FakeScript script = quick_script();
  script.block_count = 4;
  script.length = 1000;
  EngineHarness h(script);
  ASSERT_TRUE(h.submit(1, letters(40)).ok());
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.events.tokens(1).size(), 24U);
  EXPECT_EQ(h.events.of(1).choices[0].finished->reason, FinishReason::kLength);
  EXPECT_TRUE(h.engine->status().ready);
}

TEST(EngineAnswers, APromptThatIsComputedInSeveralStepsIsClosedWithTheirNumber) {
  EngineOptions options;
  options.sched.max_step_tokens = 64;
  EngineHarness h(quick_script(), options);
  EngineRequest request = h.request(1, letters(200), 5);
  request.choices = 2;  // the second one shares what the first has computed
  ASSERT_TRUE(h.engine->submit(std::move(request)).ok());
  ASSERT_TRUE(h.submit(2, letters(40, 3), 5).ok());
  ASSERT_TRUE(h.run());
  std::uint32_t with_prompt = 0;
  const SequenceId first = h.events.steps.front().plan.entries.front().sequence;
  for (const StepCommitted& step : h.events.steps) {
    for (const PlanEntry& entry : step.plan.entries)
      with_prompt += entry.sequence == first && entry.first_position < 200;
  }
  EXPECT_GE(with_prompt, 4U);
  EXPECT_EQ(h.events.of(1).closed->prompt_steps, with_prompt);
  EXPECT_EQ(h.events.of(2).closed->prompt_steps, 1U);
}

TEST(EngineAnswers, APromptThatIsOnlyScoredGeneratesNothing) {
  EngineHarness h(quick_script());
  EngineRequest request = h.request(1, letters(37), 0);
  request.prompt_logprobs = true;
  ASSERT_TRUE(h.engine->submit(std::move(request)).ok());
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.events.of(1).scored.size(), 36U);
  EXPECT_TRUE(h.events.tokens(1).empty());
  EXPECT_EQ(h.events.of(1).choices[0].finished->reason, FinishReason::kLength);
}

// A21: one seat, N requests: N complete answers, in order.
TEST(EngineAnswers, WithOneSeatEveryoneIsAnsweredInOrder) {
  EngineOptions options;
  options.sched.max_sequences = 1;
  EngineHarness h(quick_script(), options);
  for (std::uint64_t id = 1; id <= 6; ++id) ASSERT_TRUE(h.submit(id, letters(10, static_cast<std::uint32_t>(id))).ok());
  ASSERT_TRUE(h.run());
  TimePoint previous{};
  for (std::uint64_t id = 1; id <= 6; ++id) {
    EXPECT_EQ(h.events.tokens(id).size(), 32U);
    const TimePoint first = h.events.of(id).choices[0].times.front();
    EXPECT_GT(first, previous);
    previous = h.events.of(id).choices[0].times.back();
  }
}

// C4: joining at any step never changes others' tokens.
TEST(EngineAnswers, JoiningAtAnyStepChangesNobodysTokens) {
  const auto a = alone(1, letters(70));
  const auto b = alone(2, letters(90, 3));
  for (int join_at = 0; join_at < 36; ++join_at) {
    EngineHarness h(quick_script());
    ASSERT_TRUE(h.submit(1, letters(70)).ok());
    h.step(join_at);
    ASSERT_TRUE(h.submit(2, letters(90, 3)).ok());
    ASSERT_TRUE(h.run());
    EXPECT_EQ(h.events.tokens(1), a) << "joined at step " << join_at;
    EXPECT_EQ(h.events.tokens(2), b) << "joined at step " << join_at;
  }
}

// D11: n choices, the prompt computed once, distinct seeds, all complete.
TEST(EngineAnswers, EveryChoiceIsCompleteAndTheirPromptIsComputedOnce) {
  EngineHarness h(quick_script());
  EngineRequest request = h.request(1, letters(160));
  request.choices = 8;
  ASSERT_TRUE(h.engine->submit(std::move(request)).ok());
  ASSERT_TRUE(h.run());
  std::set<std::vector<TokenId>> different;
  for (std::uint32_t choice = 0; choice < 8; ++choice) {
    EXPECT_EQ(h.events.tokens(1, choice).size(), 32U);
    different.insert(h.events.tokens(1, choice));
  }
  EXPECT_EQ(different.size(), 8U);
  std::uint32_t rows = 0;
  for (const StepCommitted& step : h.events.steps) rows += step.plan.features.tokens;
  EXPECT_EQ(rows, 160U + 7 * 16 + 8 * 32) << "siblings compute only what the full blocks leave";
  EXPECT_GT(h.events.of(1).closed->waited[static_cast<std::size_t>(WaitReason::kSibling)], Duration::zero());
}

TEST(EngineAnswers, ChoicesShareThePromptWithoutThePrefixCacheToo) {
  EngineHarness h(quick_script());
  EngineRequest request = h.request(1, letters(160));
  request.choices = 2;
  request.use_prefix_cache = false;
  ASSERT_TRUE(h.engine->submit(std::move(request)).ok());
  ASSERT_TRUE(h.run());
  std::uint32_t rows = 0;
  for (const StepCommitted& step : h.events.steps) rows += step.plan.features.tokens;
  EXPECT_EQ(rows, 160U + 16 + 2 * 32);
}

// E8: the next turn computes only what follows the longest common block prefix, and says so.
TEST(EngineAnswers, ASecondTurnIsAnsweredFromThePrefixCacheWithTheSameTokens) {
  const auto prompt = letters(100);
  const auto expected = alone(2, prompt);
  EngineHarness h(quick_script());
  ASSERT_TRUE(h.submit(1, letters(100)).ok());
  ASSERT_TRUE(h.run());
  ASSERT_TRUE(h.submit(2, prompt).ok());
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.events.of(2).admitted->cached_tokens, 96U);
  EXPECT_EQ(h.events.of(2).closed->cached_tokens, 96U);
  EXPECT_EQ(h.events.tokens(2), expected);
}

TEST(EngineAnswers, TwoKvGroupsGiveTheSameTokensAsOne) {
  FakeScript script = quick_script();
  script.groups = 2;
  script.block_count = 40;
  EngineHarness h(script);
  for (std::uint64_t id = 1; id <= 6; ++id)
    ASSERT_TRUE(h.submit(id, letters(100, static_cast<std::uint32_t>(id % 2))).ok());
  ASSERT_TRUE(h.run());
  for (std::uint64_t id = 1; id <= 6; ++id)
    EXPECT_EQ(h.events.tokens(id), alone(id, letters(100, static_cast<std::uint32_t>(id % 2))));
}

TEST(EngineAnswers, ACancelledRequestIsOverInTheNextTurnInEveryPhase) {
  EngineOptions options;
  options.sched.max_sequences = 1;
  EngineHarness h(quick_script(), options);
  const auto free_blocks = h.engine->status().blocks_free;
  ASSERT_TRUE(h.submit(1, letters(20)).ok());
  h.step(3);  // decoding
  ASSERT_TRUE(h.submit(2, letters(20)).ok());
  h.step();  // queued
  h.engine->cancel(RequestId(2), CancelCause::kClientGone);
  h.step();
  EXPECT_EQ(h.events.of(2).closed->phase, RequestPhase::kQueued);
  h.engine->cancel(RequestId(1), CancelCause::kSlowReader);
  h.step();
  EXPECT_EQ(h.events.of(1).closed->phase, RequestPhase::kDecode);
  EXPECT_EQ(h.events.of(1).closed->reason, FinishReason::kCancelled);
  ASSERT_TRUE(h.submit(3, letters(3000, 5)).ok());
  h.step();
  h.engine->cancel(RequestId(3), CancelCause::kClientGone);
  h.engine->cancel(RequestId(3), CancelCause::kClientGone);  // twice, and one nobody knows
  h.engine->cancel(RequestId(99), CancelCause::kClientGone);
  h.step();
  EXPECT_EQ(h.events.of(3).closed->phase, RequestPhase::kPrefill);
  EXPECT_TRUE(h.engine->idle());
  const EngineStatus status = h.engine->status();
  EXPECT_EQ(status.running + status.waiting, 0U);
  EXPECT_EQ(status.blocks_free + status.blocks_cached, free_blocks);
}

// D11: the same where the first choice is over before the others have a seat or a step, and nothing may stay in the
// prefix cache: the prompt is computed once but for its last block, by nobody else's request, and is gone afterwards.
TEST(EngineAnswers, ChoicesWhoseFirstOneEndsAtOnceStillShareThePrompt) {
  for (const bool cache_is_off : {false, true}) {
    for (const std::uint32_t seats : {1U, 64U}) {
      EngineOptions options;
      options.kv.prefix_cache = !cache_is_off;
      options.sched.max_sequences = seats;
      EngineHarness h(quick_script(), options);
      EngineRequest others = h.request(7, letters(160), 1);
      others.use_prefix_cache = false;
      ASSERT_TRUE(h.engine->submit(std::move(others)).ok());
      ASSERT_TRUE(h.run());
      for (const std::uint64_t id : {1U, 2U}) {
        h.events.steps.clear();
        EngineRequest request = h.request(id, letters(160), 1);
        request.choices = 4;
        request.use_prefix_cache = false;
        ASSERT_TRUE(h.engine->submit(std::move(request)).ok());
        ASSERT_TRUE(h.run());
        std::uint32_t rows = 0;
        for (const StepCommitted& step : h.events.steps) rows += step.plan.features.tokens;
        EXPECT_EQ(rows, 160U + 3 * 16) << seats << " seats";
        EXPECT_EQ(h.engine->status().blocks_owned, 0U);
        EXPECT_EQ(h.engine->status().blocks_cached, 0U) << "nothing that nobody may find stays";
      }
    }
  }
}

TEST(EngineAnswers, AStopFoundInTheTextEndsThatChoiceOnly) {
  EngineHarness h(quick_script());
  EngineRequest request = h.request(1, letters(10));
  request.choices = 2;
  ASSERT_TRUE(h.engine->submit(std::move(request)).ok());
  h.step(6);
  h.engine->finish_choice(RequestId(1), 0);
  h.engine->finish_choice(RequestId(1), 7);
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.events.of(1).choices[0].finished->reason, FinishReason::kStop);
  EXPECT_LT(h.events.tokens(1, 0).size(), 8U);
  EXPECT_EQ(h.events.tokens(1, 1).size(), 32U);
}

// A6: the short prompt's first token comes within three times its idle time while the long prompt is still in prefill.
TEST(EngineAnswers, AShortPromptBehindALongOneIsAnsweredWithinThreeTimesItsIdleTime) {
  FakeScript script = quick_script();
  script.context_tokens = 16000;
  script.block_count = 1200;
  const auto ttft = [](EngineHarness& h, std::uint64_t id) {
    const TimePoint start = h.clock.now();
    EXPECT_TRUE(h.submit(id, letters(100, static_cast<std::uint32_t>(id))).ok());
    while (h.events.tokens(id).empty()) h.step();
    return h.clock.now() - start;
  };
  EngineHarness idle(script);
  const Duration idle_ttft = ttft(idle, 2);
  EngineHarness busy(script);
  ASSERT_TRUE(busy.submit(1, letters(15000)).ok());
  busy.step(2);
  for (std::uint64_t id = 2; id < 12; ++id) EXPECT_LE(ttft(busy, id), 3 * idle_ttft) << "request " << id;
  EXPECT_TRUE(busy.events.tokens(1).empty()) << "the long prompt is still in prefill";
}

// A1, A4: while a prompt of any length is prefilled the stream's gaps stay inside the step target.
TEST(EngineAnswers, AStreamsGapsStayInsideTheStepTargetDuringALongPrefill) {
  FakeScript script = quick_script();
  script.context_tokens = 16000;
  script.block_count = 1200;
  script.length = 400;
  EngineHarness h(script);
  ASSERT_TRUE(h.submit(1, letters(10)).ok());
  h.step(5);
  ASSERT_TRUE(h.submit(2, letters(8000, 3), 2).ok());
  ASSERT_TRUE(h.run());
  const auto& times = h.events.of(1).choices[0].times;
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_LE(times[i] - times[i - 1], milliseconds(62)) << "token " << i;
}

}  // namespace
}  // namespace takt
