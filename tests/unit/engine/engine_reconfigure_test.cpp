// Settings that change while the engine works: what runs goes on, and no answer changes.
#include <gtest/gtest.h>

#include <random>

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

// Every mode, and settings that take room away from those who have it.
std::vector<SchedulerOptions> modes_to_change_to() {
  std::vector<SchedulerOptions> modes(10);
  modes[1] = static_batches(3);
  modes[2] = static_batches(2);
  modes[2].padding = false;
  modes[2].reserve = KvReserve::kContext;
  modes[3].join = JoinRule::kWhenEmpty;
  modes[4].prefill = PrefillRule::kWhole;
  modes[5].admission = AdmissionRule::kWorstCase;
  modes[5].preemption = PreemptionRule::kNone;
  modes[6].admission = AdmissionRule::kPredicted;
  modes[7].reserve = KvReserve::kWorstCase;
  modes[7].preemption = PreemptionRule::kNone;
  modes[8].max_sequences = 1;
  modes[8].max_step_tokens = 2;
  modes[9].watermark = 0.4;
  modes[9].step_target = milliseconds(1);
  return modes;
}

void change(EngineHarness& h, const SchedulerOptions& sched) {
  const EngineOptions options = with(sched);
  const Status sound = h.engine->check(options);
  ASSERT_TRUE(sound.ok()) << sound.error().message;
  h.engine->reconfigure(options);
}

bool run_to_the_end(EngineHarness& h) {
  for (int i = 0; i < 20000 && !h.engine->idle(); ++i) {
    if (h.engine->step() == StepOutcome::kDeferred) h.clock.advance(milliseconds(1));
  }
  return h.engine->idle();
}

// From every mode to every other, in the middle of work that is short of memory: the answers are those of a quiet
// machine, and nothing is left behind. (The engine's invariants are checked after every turn.)
TEST(EngineReconfigure, FromEveryModeToEveryOtherUnderLoadChangesNoAnswer) {
  std::map<std::uint64_t, std::vector<TokenId>> expected;
  for (std::uint64_t id = 1; id <= 8; ++id) {
    EngineHarness h(short_of_blocks());
    ASSERT_TRUE(h.submit(id, letters(static_cast<std::uint32_t>(5 + id * 9), static_cast<std::uint32_t>(id)), 50).ok());
    ASSERT_TRUE(h.run());
    expected[id] = h.events.tokens(id);
  }
  const auto modes = modes_to_change_to();
  for (std::size_t from = 0; from < modes.size(); ++from) {
    for (std::size_t to = 0; to < modes.size(); ++to) {
      EngineHarness h(short_of_blocks());
      change(h, modes[from]);
      for (std::uint64_t id = 1; id <= 8; ++id) {
        ASSERT_TRUE(
            h.submit(id, letters(static_cast<std::uint32_t>(5 + id * 9), static_cast<std::uint32_t>(id)), 50).ok());
        h.step(2);
        if (id == 5) change(h, modes[to]);
      }
      ASSERT_TRUE(run_to_the_end(h)) << from << " -> " << to;
      for (std::uint64_t id = 1; id <= 8; ++id) EXPECT_EQ(h.events.tokens(id), expected[id]) << from << " -> " << to;
      EXPECT_EQ(h.engine->status().blocks_owned, 0U);
    }
  }
}

TEST(EngineReconfigure, ManyChangesAtRandomMomentsLoseNothing) {
  std::mt19937 generator(7);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(generator() % n); };
  const auto modes = modes_to_change_to();
  for (int round = 0; round < 10; ++round) {
    EngineHarness h(short_of_blocks());
    std::uint64_t submitted = 0;
    for (int i = 0; i < 400; ++i) {
      if (below(6) == 0) change(h, modes[below(static_cast<std::uint32_t>(modes.size()))]);
      if (below(4) == 0) {
        EngineRequest request = h.request(++submitted, letters(3 + below(60), below(26)), 5 + below(60));
        request.labels.tier = below(3) == 0 ? Tier::kBatch : Tier::kRealtime;
        request.choices = 1 + below(2);
        request.targets.max_queue_wait = std::chrono::hours(1);
        ASSERT_TRUE(h.engine->submit(std::move(request)).ok());
      }
      if (h.engine->step() == StepOutcome::kDeferred) h.clock.advance(milliseconds(1));
    }
    ASSERT_TRUE(run_to_the_end(h)) << "round " << round;
    for (std::uint64_t id = 1; id <= submitted; ++id) {
      ASSERT_TRUE(h.events.of(id).closed.has_value()) << id;
      EXPECT_NE(h.events.of(id).closed->reason, FinishReason::kFailed) << id;
      EXPECT_EQ(h.events.of(id).events_after_close, 0);
    }
    EXPECT_EQ(h.engine->status().blocks_owned, 0U);
  }
}

TEST(EngineReconfigure, FewerSeatsTakeNobodysSeatAndLetNobodyElseIn) {
  EngineHarness h(quick_script());
  for (std::uint64_t id = 1; id <= 4; ++id) ASSERT_TRUE(h.submit(id, letters(5), 40).ok());
  h.step(3);
  ASSERT_EQ(h.engine->status().running, 4U);
  SchedulerOptions one;
  one.max_sequences = 1;
  one.max_step_tokens = 2;
  change(h, one);
  ASSERT_TRUE(h.submit(5, letters(5), 5).ok());
  const std::size_t before = h.events.tokens(4).size();
  h.step(10);
  EXPECT_EQ(h.engine->status().running, 4U);
  for (std::uint64_t id = 1; id <= 4; ++id)
    EXPECT_EQ(h.events.tokens(id).size(), before + 10) << "each still has its row in every step";
  EXPECT_FALSE(h.events.of(5).admitted.has_value());
  ASSERT_TRUE(h.run());
  EXPECT_TRUE(h.events.of(5).closed.has_value());
}

TEST(EngineReconfigure, MoreSeatsLetThoseWhoWaitInWithTheNextStep) {
  EngineOptions options;
  options.sched.max_sequences = 1;
  EngineHarness h(quick_script(), options);
  for (std::uint64_t id = 1; id <= 3; ++id) ASSERT_TRUE(h.submit(id, letters(5), 50).ok());
  h.step(3);
  EXPECT_EQ(h.engine->status().running, 1U);
  change(h, {});
  h.step();
  EXPECT_EQ(h.engine->status().running, 3U);
}

TEST(EngineReconfigure, TheDoorHasTheNewLimitsAtOnceAndThrowsNobodyOut) {
  EngineHarness h(quick_script());
  for (std::uint64_t id = 1; id <= 10; ++id) ASSERT_TRUE(h.submit(id, letters(5), 20).ok());
  EngineOptions narrow;
  narrow.sched.max_sequences = 2;
  narrow.realtime.max_waiting = 3;
  ASSERT_TRUE(h.engine->check(narrow).ok());
  h.engine->reconfigure(narrow);
  EXPECT_EQ(h.submit(11, letters(5)).error().field, "queue_full");
  ASSERT_TRUE(h.run());
  for (std::uint64_t id = 1; id <= 10; ++id) EXPECT_EQ(h.events.tokens(id).size(), 20U);
}

// What is held back for a batch leaves when batches are no more.
TEST(EngineReconfigure, FromStaticToContinuousReleasesTheAnswersThatWereHeld) {
  FakeScript script = quick_script();
  script.length = 100;
  EngineHarness h(script, with(static_batches(2)));
  ASSERT_TRUE(h.submit(1, letters(10), 3).ok());
  ASSERT_TRUE(h.submit(2, letters(10, 3), 60).ok());
  h.step(20);
  EXPECT_FALSE(h.events.of(1).closed.has_value());
  change(h, {});
  h.step();
  EXPECT_TRUE(h.events.of(1).closed.has_value());
  ASSERT_TRUE(h.submit(3, letters(10), 3).ok());
  h.step(8);
  EXPECT_TRUE(h.events.of(3).closed.has_value()) << "a newcomer joins beside the one that runs";
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.events.tokens(2).size(), 60U);
}

TEST(EngineReconfigure, WhatTheExecutorCannotDoIsRefusedByName) {
  FakeScript script = quick_script();
  script.max_sequences = 8;
  EngineOptions options;
  options.sched.max_sequences = 8;
  EngineHarness h(script, options);
  EngineOptions more = options;
  more.sched.max_sequences = 9;
  EXPECT_EQ(h.engine->check(more).error().field, "scheduler.max_sequences");
  EXPECT_EQ(h.engine->check(more).error().code, ErrorCode::kUnsupported);
  more = options;
  more.kv.prefix_cache = false;
  EXPECT_EQ(h.engine->check(more).error().field, "kv.prefix_cache");
  more = options;
  more.sched.watermark = 2;
  EXPECT_EQ(h.engine->check(more).error().field, "scheduler.watermark");
  EXPECT_TRUE(h.engine->check(options).ok());
}

ClassTable classes_with(const EngineClass& last) {
  return {EngineClass{}, last};
}

EngineRequest of_class(EngineHarness& h, std::uint64_t id, std::uint32_t prompt, ClassIndex service_class) {
  EngineRequest request = h.request(id, letters(prompt), 10);
  request.service_class = service_class;
  return request;
}

TEST(EngineClasses, AClassHasQueueBoundsOfItsOwn) {
  EngineClass bounded;
  bounded.queue.max_waiting = 2;
  EngineOptions options;
  options.sched.max_sequences = 1;
  options.sched.classes = classes_with(bounded);
  EngineHarness h(quick_script(), options);
  ASSERT_TRUE(h.engine->submit(of_class(h, 1, 5, ClassIndex(1))).ok());
  ASSERT_TRUE(h.engine->submit(of_class(h, 2, 5, ClassIndex(1))).ok());
  const Status full = h.engine->submit(of_class(h, 3, 5, ClassIndex(1)));
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().field, "queue_full");
  EXPECT_FALSE(h.engine->check_room({Tier::kRealtime, ClassIndex(1)}, 5, 1).ok());
  EXPECT_TRUE(h.engine->submit(of_class(h, 4, 5, ClassIndex(0))).ok()) << "others have room";
  h.step(2);
  EXPECT_TRUE(h.engine->submit(of_class(h, 5, 5, ClassIndex(1))).ok()) << "who runs does not wait";
  ASSERT_TRUE(h.run());
  EXPECT_TRUE(h.engine->submit(of_class(h, 6, 5, ClassIndex(1))).ok());
}

TEST(EngineClasses, AClassHasABoundOfWaitingPromptTokens) {
  FakeScript script = quick_script();
  script.context_tokens = 64;
  EngineClass bounded;
  bounded.queue.max_waiting_tokens = 64;
  EngineOptions options;
  options.sched.max_sequences = 1;
  options.sched.classes = classes_with(bounded);
  EngineHarness h(script, options);
  ASSERT_TRUE(h.engine->submit(of_class(h, 1, 40, ClassIndex(1))).ok());
  EXPECT_EQ(h.engine->submit(of_class(h, 2, 40, ClassIndex(1))).error().field, "queue_full");
  EXPECT_TRUE(h.engine->submit(of_class(h, 3, 24, ClassIndex(1))).ok());
}

// A19: what its class's ceiling can never hold is refused at the door.
TEST(EngineClasses, ARequestBeyondItsClassesBlocksIsRefused) {
  FakeScript script = quick_script();
  script.context_tokens = 256;
  script.block_count = 40;  // of 16
  EngineClass small;
  small.limits.ceiling.blocks = 0.1;
  EngineOptions options;
  options.sched.classes = classes_with(small);
  EngineHarness h(script, options);
  EXPECT_TRUE(h.engine->submit(of_class(h, 1, 40, ClassIndex(1))).ok());
  const Status never = h.engine->submit(of_class(h, 2, 100, ClassIndex(1)));
  ASSERT_FALSE(never.ok());
  EXPECT_EQ(never.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(h.engine->submit(of_class(h, 3, 100, ClassIndex(0))).ok());
}

TEST(EngineClasses, AClassThatCouldNeverBeAdmittedIsRefusedAtTheStart) {
  FakeScript script = quick_script();
  script.block_count = 40;
  EngineClass nothing;
  nothing.limits.ceiling.blocks = 0.02;
  EngineHarness h(script);
  EngineOptions options;
  options.sched.classes = classes_with(nothing);
  EXPECT_NE(h.engine->check(options).error().message.find("could never be admitted"), std::string::npos);
  EngineClass short_queue;
  short_queue.queue.max_waiting_tokens = 1;
  options.sched.classes = classes_with(short_queue);
  EXPECT_NE(h.engine->check(options).error().message.find("could never be accepted"), std::string::npos);
}

// A window holds nobody longer than the class allows, and whoever came before them comes along.
TEST(EngineClasses, AnAdaptiveWindowHoldsNobodyLongerThanTheClassAllows) {
  EngineOptions options;
  options.sched.window = {8, 0.0, milliseconds(500), true};
  EngineHarness h(quick_script(), options);
  const auto submit = [&](std::uint64_t id, Duration window) {
    EngineRequest request = h.request(id, letters(5), 200);
    request.targets.window = window;
    ASSERT_TRUE(h.engine->submit(std::move(request)).ok());
  };
  submit(1, milliseconds(20));
  h.step(2);
  ASSERT_TRUE(h.events.of(1).admitted.has_value()) << "nothing ran: no window holds";
  submit(2, milliseconds(20));
  const TimePoint came = h.clock.now();
  while (!h.events.of(2).admitted) h.step();
  EXPECT_GE(h.events.of(2).admitted_at - came, milliseconds(20));
  EXPECT_LE(h.events.of(2).admitted_at - came, milliseconds(25));
  submit(3, milliseconds(500));
  h.step();
  EXPECT_FALSE(h.events.of(3).admitted.has_value());
  submit(4, Duration::zero());
  h.step();
  EXPECT_TRUE(h.events.of(4).admitted.has_value());
  EXPECT_TRUE(h.events.of(3).admitted.has_value());
}

TEST(EngineClasses, AWindowThatIsNotAdaptiveHoldsWhateverTheClassSays) {
  EngineOptions options;
  options.sched.window = {2, 0.0, milliseconds(100), false};
  EngineHarness h(quick_script(), options);
  EngineRequest request = h.request(1, letters(5), 3);
  request.targets.window = Duration::zero();
  ASSERT_TRUE(h.engine->submit(std::move(request)).ok());
  EXPECT_EQ(h.engine->step(), StepOutcome::kDeferred);
  h.clock.advance(milliseconds(100));
  EXPECT_EQ(h.engine->step(), StepOutcome::kCommitted);
}

}  // namespace
}  // namespace takt
