// The door: bounds that hold exactly and in every state, expiry, draining, contradictory options.
#include <gtest/gtest.h>

#include "engine/door.h"
#include "support/engine_harness.h"

namespace takt {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::EngineHarness;
using testing::letters;
using testing::quick_script;

EngineOptions small(std::uint32_t seats, std::uint32_t queue) {
  EngineOptions options;
  options.sched.max_sequences = seats;
  options.realtime.max_waiting = queue;
  return options;
}

// A17: exactly seats + queue, idle or loaded, before and after the engine has looked.
TEST(EngineDoor, ExactlySeatsAndQueueAreAcceptedInEveryState) {
  EngineHarness h(quick_script(), small(1, 1));
  const auto accepted = [&](std::uint64_t first) {
    int count = 0;
    for (std::uint64_t id = first; id < first + 6; ++id) {
      const Status status = h.submit(id, letters(5));
      if (status.ok()) {
        ++count;
      } else {
        EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
      }
    }
    return count;
  };
  EXPECT_EQ(accepted(1), 2);
  h.step();
  EXPECT_EQ(accepted(11), 0);
  ASSERT_TRUE(h.run());
  EXPECT_EQ(accepted(21), 2);
  h.step(5);
  EXPECT_EQ(accepted(31), 0);
}

// A18: 300 small calls at once survive on defaults.
TEST(EngineDoor, ThreeHundredSmallCallsAtOnceAreAllAnswered) {
  EngineHarness h(quick_script());
  for (std::uint64_t id = 1; id <= 300; ++id) ASSERT_TRUE(h.submit(id, letters(20), 3).ok()) << id;
  ASSERT_TRUE(h.run());
  for (std::uint64_t id = 1; id <= 300; ++id) EXPECT_EQ(h.events.tokens(id).size(), 3U);
}

// A15: bounded by prompt tokens too, and n counts as n.
TEST(EngineDoor, PromptTokensAndChoicesCount) {
  FakeScript script = quick_script();
  script.context_tokens = 256;
  EngineOptions options = small(4, 4);
  options.realtime.max_waiting_tokens = 300;
  EngineHarness h(script, options);
  ASSERT_TRUE(h.submit(1, letters(200), 5).ok());
  EXPECT_EQ(h.submit(2, letters(200), 5).error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(h.engine->check_room({Tier::kRealtime}, 200, 1).ok());
  EXPECT_TRUE(h.engine->check_room({Tier::kRealtime}, 50, 1).ok());
  h.step();  // admitted: its prompt waits no longer
  EXPECT_TRUE(h.submit(3, letters(200), 5).ok());
  ASSERT_TRUE(h.run());
  EngineRequest many = h.request(4, letters(5), 5);
  many.choices = 7;
  ASSERT_TRUE(h.engine->submit(std::move(many)).ok());
  EngineRequest two = h.request(5, letters(5), 5);
  two.choices = 2;
  EXPECT_EQ(h.engine->submit(std::move(two)).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(h.submit(6, letters(5), 5).ok());
  EngineRequest never = h.request(7, letters(5), 5);
  never.choices = 9;
  EXPECT_EQ(h.engine->submit(std::move(never)).error().code, ErrorCode::kInvalidArgument);
}

TEST(EngineDoor, TenantsAndUsersHaveBoundsOfTheirOwn) {
  EngineOptions options;
  options.realtime.max_per_tenant = 3;
  options.realtime.max_per_user = 2;
  EngineHarness h(quick_script(), options);
  const auto submit = [&](std::uint64_t id, const char* tenant, const char* user) {
    EngineRequest r = h.request(id, letters(5), 2);
    r.labels.tenant = tenant;
    r.labels.user = user;
    return h.engine->submit(std::move(r));
  };
  EXPECT_TRUE(submit(1, "a", "x").ok());
  EXPECT_TRUE(submit(2, "a", "x").ok());
  EXPECT_EQ(submit(3, "a", "x").error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(submit(4, "a", "y").ok());
  EXPECT_EQ(submit(5, "a", "z").error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(submit(6, "b", "x").ok());
  for (std::uint64_t id = 8; id <= 9; ++id) EXPECT_TRUE(submit(id, "b", "").ok()) << "nobody in particular";
  ASSERT_TRUE(h.run());
  EXPECT_TRUE(submit(7, "a", "x").ok());
  for (std::uint64_t id = 10; id <= 12; ++id) EXPECT_TRUE(submit(id, "c", "").ok());
  EXPECT_FALSE(submit(13, "c", "").ok()) << "the tenant's bound";
}

// A16: expired before any prefill.
TEST(EngineDoor, AWaitThatIsTooLongEndsWithAnErrorBeforeAnyPrefill) {
  EngineHarness h(quick_script(), small(1, 5));
  ASSERT_TRUE(h.submit(1, letters(10)).ok());
  h.step(2);
  EngineRequest impatient = h.request(2, letters(10, 5));
  impatient.targets.max_queue_wait = milliseconds(30);
  ASSERT_TRUE(h.engine->submit(std::move(impatient)).ok());
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.events.of(2).closed->reason, FinishReason::kExpired);
  EXPECT_EQ(h.events.of(2).choices[0].finished->error.code, ErrorCode::kExpired);
  EXPECT_FALSE(h.events.of(2).admitted.has_value());
  EXPECT_EQ(h.events.tokens(1).size(), 32U);
  EXPECT_GT(h.events.of(2).closed->waited[static_cast<std::size_t>(WaitReason::kSeat)], milliseconds(20));
}

TEST(EngineDoor, BadRequestsAreRefusedWithTheFieldAtFault) {
  EngineHarness h(quick_script());
  EXPECT_EQ(h.submit(1, {}).error().field, "prompt");
  EXPECT_EQ(h.submit(2, {5, 100000}).error().field, "prompt");
  EXPECT_EQ(h.submit(3, {-1}).error().field, "prompt");
  EngineRequest none = h.request(4, letters(5));
  none.choices = 0;
  EXPECT_EQ(h.engine->submit(std::move(none)).error().field, "n");
  EngineRequest other = h.request(5, letters(5));
  other.model = ModelIndex(7);
  EXPECT_EQ(h.engine->submit(std::move(other)).error().code, ErrorCode::kNotFound);
}

// A19: contradictory limits are refused at start.
TEST(EngineDoor, ContradictoryOptionsAreRefusedAtStart) {
  const auto field_of = [](EngineOptions options) {
    ManualClock clock;
    const auto engine = Engine::create(make_fake_executor(quick_script(), clock, advance(clock)), clock, options, {});
    return engine.ok() ? std::string() : engine.error().field;
  };
  EngineOptions options;
  options.realtime.max_waiting_tokens = 100;  // less than one context
  EXPECT_EQ(field_of(options), "queue_realtime.max_waiting_tokens");
  options = {};
  options.sched.step_target = seconds(1);
  EXPECT_EQ(field_of(options), "scheduler.step_target_ms");
  options = {};
  options.sched.max_sequences = 0;
  EXPECT_EQ(field_of(options), "scheduler.max_sequences");
  options = {};
  options.sched.protect_after = 1001;
  EXPECT_EQ(field_of(options), "scheduler.protect_after");
  options = {};
  options.sched.window.max_wait = -milliseconds(1);
  EXPECT_EQ(field_of(options), "scheduler.window_max_wait_ms");
  options = {};
  options.sched.planning_margin = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(field_of(options), "scheduler.planning_margin");
  options = {};
  options.warm_up = Duration::zero();
  EXPECT_EQ(field_of(options), "engine.warm_up_ms");
}

// F17: not ready at once, nothing new, what runs goes on, then ends with an error.
TEST(EngineDoor, DrainingFinishesWhatRunsUntilItsDeadline) {
  EngineHarness h(quick_script());
  ASSERT_TRUE(h.submit(1, letters(10), 5).ok());
  ASSERT_TRUE(h.submit(2, letters(10, 4), 30).ok());
  h.step();
  h.engine->begin_drain(h.clock.now() + milliseconds(40));
  EXPECT_FALSE(h.engine->status().ready);
  EXPECT_TRUE(h.engine->status().draining);
  EXPECT_EQ(h.submit(3, letters(5)).error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(h.engine->check_room({Tier::kRealtime}, 5, 1).ok());
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.events.of(1).closed->reason, FinishReason::kLength);
  EXPECT_EQ(h.events.of(2).closed->reason, FinishReason::kFailed);
  EXPECT_EQ(h.events.of(2).choices[0].finished->error.code, ErrorCode::kUnavailable);
  EXPECT_TRUE(h.engine->idle());
}

TEST(EngineDoor, StoppingEndsEverythingWithAnError) {
  EngineHarness h(quick_script());
  ASSERT_TRUE(h.submit(1, letters(10)).ok());
  h.step(3);
  ASSERT_TRUE(h.submit(2, letters(10)).ok());
  h.engine->stop();
  for (std::uint64_t id = 1; id <= 2; ++id) EXPECT_EQ(h.events.of(id).closed->reason, FinishReason::kFailed);
  EXPECT_FALSE(h.submit(3, letters(10)).ok());
  EXPECT_FALSE(h.engine->status().ready);
}

// F16: what was started is finished, and the first token is counted once whatever happened in between.
TEST(EngineDoor, IdentitiesHoldAfterChunksPreemptionsCancelsAndExpiry) {
  FakeScript script = quick_script();
  script.block_count = 24;
  script.length = 60;
  EngineHarness h(script, small(6, 100));
  for (std::uint64_t id = 1; id <= 40; ++id) {
    EngineRequest r = h.request(id, letters(30 + static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id)));
    if (id % 7 == 0) r.targets.max_queue_wait = milliseconds(50);
    ASSERT_TRUE(h.engine->submit(std::move(r)).ok());
    if (id % 5 == 0) h.engine->cancel(RequestId(id - 2), CancelCause::kClientGone);
    h.step(2);
  }
  ASSERT_TRUE(h.run());
  for (std::uint64_t id = 1; id <= 40; ++id) {
    auto& history = h.events.of(id);
    ASSERT_TRUE(history.accepted && history.closed) << id;
    EXPECT_EQ(history.events_after_close, 0);
    EXPECT_EQ(history.choices[0].finished->generated_tokens, history.choices[0].tokens.size());
    if (!history.choices[0].tokens.empty()) {
      EXPECT_TRUE(history.admitted.has_value());
    }
  }
}

}  // namespace
}  // namespace takt
