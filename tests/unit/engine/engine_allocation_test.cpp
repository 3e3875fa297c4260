// A step allocates nothing once the engine has seen as much work as there is. Counts every operator new of this binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/fake/fake_executor.h"
#include "sched/tape.h"
#include "support/allocation_counter.h"
#include "support/engine_harness.h"
#include "support/plain_step_time.h"
#include "swap/timed_store.h"

namespace takt {
namespace {

using testing::allocation_count;
using testing::letters;

// Moves with the executor's steps. Also where counting stops: the engine reads it last before it tells its status and,
// in builds that check invariants, checks them, which allocates.
class CountingClock final : public Clock {
 public:
  TimePoint now() const override {
    count_ = allocation_count.load();
    return clock_.now();
  }
  ManualClock& manual() { return clock_; }
  std::uint64_t count_at_last_look() const { return count_; }

 private:
  ManualClock clock_;
  mutable std::uint64_t count_ = 0;
};

// Counts from the first event to the end of the turn: handing them over, and what is done with them then.
class CountingSink final : public EventSink {
 public:
  void publish(const std::vector<Event>& events) noexcept override {
    count_ = allocation_count.load();
    for (const Event& event : events) {
      if (const auto* step = std::get_if<StepCommitted>(&event.what)) rows_ = step->plan.features.tokens;
    }
  }
  std::uint64_t count_at_publishing() const { return count_; }
  std::uint32_t rows() const { return rows_; }

 private:
  std::uint64_t count_ = 0;
  std::uint32_t rows_ = 0;
};

class WarmEngine {
 public:
  explicit WarmEngine(const EngineOptions& options, std::unique_ptr<Executor> executor = nullptr) {
    if (executor == nullptr) {
      FakeScript script = testing::quick_script();
      script.block_count = 20'000;
      script.length = 4000;
      executor = make_fake_executor(script, clock_, advance(clock_.manual()));
    }
    auto step_time = std::make_unique<testing::PlainStepTime>();
    step_time->per_token = std::chrono::microseconds(100);
    auto made = Engine::create(std::move(executor), clock_, options, {&sink_}, std::move(step_time));
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    engine_ = std::move(made.value());
  }

  void submit(std::uint32_t prompt, Tier tier = Tier::kRealtime) {
    EngineRequest request;
    request.id = RequestId(++last_);
    request.prompt = letters(prompt, static_cast<std::uint32_t>(last_));
    request.arrival = clock_.now();
    request.labels.tier = tier;
    request.targets.max_queue_wait = std::chrono::hours(48);
    request.sampling.temperature = 0.0F;
    ASSERT_TRUE(engine_->submit(std::move(request)).ok());
  }

  // One turn; what it allocated.
  std::uint64_t turn() {
    const std::uint64_t before = allocation_count.load();
    EXPECT_EQ(engine_->step(), StepOutcome::kCommitted);
    const std::uint64_t after = allocation_count.load();
    return (clock_.count_at_last_look() - before) + (after - sink_.count_at_publishing());
  }

  void turns(int count) {
    for (int i = 0; i < count; ++i) turn();
  }
  std::uint64_t allocations_of(int count) {
    std::uint64_t made = 0;
    for (int i = 0; i < count; ++i) made += turn();
    return made;
  }

  EngineStatus status() const { return engine_->status(); }
  std::uint32_t rows() const { return sink_.rows(); }

 private:
  CountingClock clock_;
  CountingSink sink_;
  std::unique_ptr<Engine> engine_;
  std::uint64_t last_ = 0;
};

// Others wait: where nobody is preempted, realtime requests behind batch streams, which are looked at in every step.
// Lists of known tokens and blocks grow with a stream, ever more seldom; here they do not while it is counted.
TEST(EngineAllocations, AStepOfStreamsAllocatesNothing) {
  for (const PreemptionRule preemption : {PreemptionRule::kNone, PreemptionRule::kRecompute}) {
    EngineOptions options;
    options.sched.max_sequences = 32;
    options.realtime.max_waiting_tokens = options.batch.max_waiting_tokens = 1'000'000;
    options.sched.preemption = preemption;
    if (preemption == PreemptionRule::kNone) options.sched.admission = AdmissionRule::kWorstCase;
    WarmEngine engine(options);
    for (int i = 0; i < 32; ++i) engine.submit(600, i % 4 == 0 ? Tier::kBatch : Tier::kRealtime);
    const Tier waits = preemption == PreemptionRule::kNone ? Tier::kRealtime : Tier::kBatch;
    for (int i = 0; i < 200; ++i) engine.submit(600, waits);
    while (engine.status().running < 32 || engine.rows() != 32) engine.turns(1);
    engine.turns(60);
    EXPECT_EQ(engine.allocations_of(100), 0U) << static_cast<int>(preemption);
    EXPECT_EQ(engine.status().running, 32U);
  }
}

// The same on the CPU, whose model, sampler and threads are then in it.
TEST(EngineAllocations, AStepOnTheCpuAllocatesNothing) {
  SteadyClock steady;
  CpuExecutorOptions compute;
  compute.kv_blocks = 128;
  compute.threads = 2;
  auto executor = CpuExecutor::load(TAKT_SOURCE_DIR "/tests/data/tiny.gguf", compute, steady);
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  WarmEngine engine({}, std::move(*executor));
  for (int i = 0; i < 6; ++i) engine.submit(40);
  while (engine.status().running < 6 || engine.rows() != 6) engine.turns(1);
  engine.turns(10);
  EXPECT_EQ(engine.allocations_of(8), 0U);
}

// B12: work that was swapped out and is cancelled then, on its way out, in the arena or on its way back, leaves nothing
// behind: no page, no buffer, no memory.
TEST(EngineAllocations, CancelledSwappedWorkLeavesNothingBehind) {
  ManualClock clock;
  FakeScript script = testing::quick_script();
  script.block_count = 64;
  script.length = 200;
  auto executor = make_fake_executor(script, clock, advance(clock));
  TimedStoreScript arena_script;
  arena_script.pages = 128;
  arena_script.staging_pages = 32;
  arena_script.out_time = arena_script.in_time = std::chrono::milliseconds(2);
  auto store = TimedStore::create(arena_script, swap_page_bytes(executor->capabilities().groups), clock).value();
  const SwapStore& arena = *store;
  EngineOptions options;
  options.sched.preemption = PreemptionRule::kSwap;
  options.kv.prefix_cache = false;
  CountingSink sink;
  auto engine = std::move(Engine::create(std::move(executor), clock, options, {&sink},
                                         std::make_unique<testing::PlainStepTime>(), nullptr, std::move(store))
                              .value());
  std::uint64_t last = 0;
  const auto submit = [&](std::uint32_t prompt, Tier tier, std::uint32_t output) {
    EngineRequest request;
    request.id = RequestId(++last);
    request.prompt = letters(prompt, static_cast<std::uint32_t>(last));
    request.max_tokens = output;
    request.arrival = clock.now();
    request.labels.tier = tier;
    ASSERT_TRUE(engine->submit(std::move(request)).ok());
  };
  const auto steps = [&](int count) {
    for (int i = 0; i < count; ++i) {
      if (engine->step() != StepOutcome::kCommitted) clock.advance(std::chrono::milliseconds(1));
    }
  };
  std::int64_t bytes_after_warm_up = 0;
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t first = last + 1;
    const std::uint64_t out_before = engine->status().swap.bytes_out;
    for (int i = 0; i < 2; ++i) submit(300, Tier::kBatch, 150);
    steps(40);
    submit(600, Tier::kRealtime, 20);
    steps(1 + round % 20 * 5);
    for (std::uint64_t id = first; id <= last; ++id) engine->cancel(RequestId(id), CancelCause::kClientGone);
    steps(2);
    clock.advance(std::chrono::seconds(1));  // what is under way comes to its end
    steps(2);
    ASSERT_TRUE(engine->idle());
    const EngineStatus status = engine->status();
    ASSERT_GT(status.swap.bytes_out, out_before) << "round " << round;
    ASSERT_EQ(status.swap.used_bytes, 0U) << "round " << round;
    ASSERT_EQ(status.blocks_owned, 0U) << "round " << round;
    ASSERT_EQ(arena.room_out(), arena_script.staging_pages) << "round " << round;
    ASSERT_EQ(arena.room_in(), arena_script.staging_pages) << "round " << round;
    if (round == 20) bytes_after_warm_up = testing::live_allocated_bytes.load();
  }
  EXPECT_LE(testing::live_allocated_bytes.load(), bytes_after_warm_up + 1024);
}

// Notes how much had been allocated when the scheduler last heard of a sequence.
class CountingTape final : public SchedulerTape {
 public:
  void started(const SchedulerOptions&, const CapacityView&, TimePoint) noexcept override {}
  void added(const SequenceFacts&, RequestId, std::uint32_t, TimePoint) noexcept override {
    count_ = allocation_count.load();
  }
  void removed(SequenceId, bool, TimePoint) noexcept override {}
  void reconfigured(const SchedulerOptions&, TimePoint) noexcept override {}
  void reserve_set(SequenceId, std::uint32_t, TimePoint) noexcept override {}
  void swap_lost(SequenceId, std::uint32_t, TimePoint) noexcept override {}
  void planned(const CapacityView&, const StepPlan&, TimePoint) noexcept override {}
  void committed(std::span<const SequenceProgress>, Duration, bool, TimePoint) noexcept override {}

  std::uint64_t count_at_last_added() const { return count_; }

 private:
  std::uint64_t count_ = 0;
};

// A turn with commands of all kinds that come and go: a request that runs is cancelled, one choice of another is over,
// and three more come.
struct BusyTurn {
  BusyTurn() {
    auto executor = make_fake_executor(testing::quick_script(), clock, advance(clock));
    engine = std::move(
        Engine::create(std::move(executor), clock, {}, {&events}, std::make_unique<testing::PlainStepTime>(), &tape)
            .value());
    submit(8, 1);
    submit(9, 2);
    for (int i = 0; i < 4; ++i) engine->step();
    submit(1, 1);
    engine->cancel(RequestId(8), CancelCause::kClientGone);
    submit(2, 3);
    engine->finish_choice(RequestId(9), 1);
    submit(3, 1);
  }

  void submit(std::uint64_t id, std::uint32_t choices) {
    EngineRequest request;
    request.id = RequestId(id);
    request.prompt = letters(40, static_cast<std::uint32_t>(id));
    request.max_tokens = 20;
    request.choices = choices;
    request.arrival = clock.now();
    request.sampling.seed = id;
    request.labels.tenant = "a tenant whose name is too long for a place inside of the string";
    ASSERT_TRUE(engine->submit(std::move(request)).ok());
  }

  // The turn, of which one allocation finds no memory; what was allocated until the last request was in.
  std::uint64_t turn(std::uint64_t failing) {
    const std::uint64_t before = allocation_count.load();
    testing::failing_allocation = failing;
    engine->step();
    testing::failing_allocation = 0;
    return tape.count_at_last_added() - before;
  }
  bool run_to_the_end() {
    for (int i = 0; i < 10'000 && !engine->idle(); ++i) engine->step();
    return engine->idle();
  }

  ManualClock clock;
  CountingTape tape;
  testing::Recorder events;
  std::unique_ptr<Engine> engine;
};

// Promise 7: whatever allocation fails while the commands of a turn are applied, the request that it was for is over
// with the error, and all others are as if nothing had been; none is lost, and what a cancelled one held is free.
TEST(EngineAllocations, ACommandThatFindsNoMemoryCostsNoOtherCommandAnything) {
  BusyTurn undisturbed;
  const std::uint64_t allocations = undisturbed.turn(0);
  ASSERT_TRUE(undisturbed.run_to_the_end());
  ASSERT_GT(allocations, 20U);
  int failed_in_all = 0;
  for (std::uint64_t failing = 1; failing <= allocations; ++failing) {
    BusyTurn busy;
    busy.turn(failing);
    ASSERT_TRUE(busy.run_to_the_end()) << "allocation " << failing;
    EXPECT_FALSE(busy.engine->status().failed);
    EXPECT_EQ(busy.engine->status().blocks_owned, 0U) << "allocation " << failing;
    EXPECT_TRUE(busy.events.failures.empty()) << "allocation " << failing;
    int failed = 0;
    for (const std::uint64_t id : {1U, 2U, 3U, 8U, 9U}) {
      testing::RequestHistory& history = busy.events.of(id);
      ASSERT_TRUE(history.closed.has_value()) << "request " << id << ", allocation " << failing;
      EXPECT_EQ(history.events_after_close, 0);
      const bool is_failed = history.closed->reason == FinishReason::kFailed;
      failed += is_failed ? 1 : 0;
      for (auto& [choice, record] : undisturbed.events.of(id).choices) {
        testing::ChoiceRecord& found = history.choices[choice];
        // What ends one may come a turn later.
        const std::size_t tokens = id < 8 ? found.tokens.size() : std::min(found.tokens.size(), record.tokens.size());
        const bool is_same = std::equal(record.tokens.begin(), record.tokens.end(), found.tokens.begin(),
                                        found.tokens.begin() + static_cast<std::ptrdiff_t>(tokens));
        const bool is_right = is_failed ? found.finished->error.message == "Out of memory." : is_same;
        EXPECT_TRUE(is_right) << "request " << id << ", allocation " << failing;
      }
    }
    EXPECT_LE(failed, 1) << "allocation " << failing;
    failed_in_all += failed;
    EXPECT_NE(busy.events.of(8).closed->reason, FinishReason::kFailed);
    EXPECT_NE(busy.events.of(9).closed->reason, FinishReason::kFailed);
  }
  EXPECT_GT(failed_in_all, 20) << "most of it is for one of the three";
}

}  // namespace
}  // namespace takt
