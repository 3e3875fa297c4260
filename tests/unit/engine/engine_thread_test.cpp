// The engine on its own thread: many callers, no lock between them, nothing lost. Run under ThreadSanitizer too.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "engine/engine.h"
#include "exec/fake/fake_executor.h"
#include "support/engine_harness.h"

namespace takt {
namespace {

using testing::letters;

// Counts ends and lets a test wait for them.
class Ends final : public EventSink {
 public:
  void publish(const std::vector<Event>& events) noexcept override {
    const std::lock_guard lock(mutex_);
    for (const Event& event : events) {
      if (const auto* closed = std::get_if<Closed>(&event.what)) {
        ++closed_[closed->request.value];
        reasons_.insert(closed->reason);
      }
      if (std::holds_alternative<TokenSampled>(event.what)) ++tokens_;
    }
    changed_.notify_all();
  }
  bool wait_for(std::size_t closed) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return closed_.size() >= closed; });
  }
  bool wait_for_tokens(std::size_t tokens) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return tokens_ >= tokens; });
  }
  std::map<std::uint64_t, int> closed() {
    const std::lock_guard lock(mutex_);
    return closed_;
  }
  std::multiset<FinishReason> reasons() {
    const std::lock_guard lock(mutex_);
    return reasons_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, int> closed_;
  std::multiset<FinishReason> reasons_;
  std::size_t tokens_ = 0;
};

EngineRequest request(std::uint64_t id, std::uint32_t prompt) {
  EngineRequest r;
  r.id = RequestId(id);
  r.prompt = letters(prompt, static_cast<std::uint32_t>(id % 7));
  r.end_tokens = {kFakeImEnd};
  r.arrival = std::chrono::steady_clock::now();
  return r;
}

std::unique_ptr<Engine> make_engine(Ends& ends, const SteadyClock& clock, FakeScript script = {}) {
  script.block_count = std::min(script.block_count, 128U);
  script.step_cost = std::max<Duration>(script.step_cost, std::chrono::microseconds(20));
  return std::move(Engine::create(make_fake_executor(script, clock, sleep_for_real()), clock, {}, {&ends}).value());
}

TEST(EngineThread, ManyCallersSubmitCancelAndAskAtOnceAndEveryRequestEndsOnce) {
  Ends ends;
  const SteadyClock clock;
  auto engine = make_engine(ends, clock);
  engine->start();
  std::atomic<std::size_t> accepted{0};
  std::vector<std::thread> callers;
  for (std::uint64_t caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      for (std::uint64_t i = 0; i < 60; ++i) {
        const std::uint64_t id = caller * 1000 + i;
        if (engine->submit(request(id, 5 + static_cast<std::uint32_t>(i % 60))).ok()) ++accepted;
        if (i % 4 == 0) engine->cancel(RequestId(id), CancelCause::kClientGone);
        if (i % 5 == 0) engine->finish_choice(RequestId(id), 0);
        (void)engine->status();
        (void)engine->stall_report();
        (void)engine->check_room({Tier::kRealtime}, 10, 1);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  ASSERT_TRUE(ends.wait_for(accepted.load()));
  for (const auto& [id, times] : ends.closed()) EXPECT_EQ(times, 1) << id;
  engine->stop();
  EXPECT_TRUE(engine->idle());
}

// B19: three cancel storms leave nothing running or waiting, and a probe is answered.
TEST(EngineThread, CancelStormsLeaveNothingBehind) {
  Ends ends;
  const SteadyClock clock;
  auto engine = make_engine(ends, clock);
  engine->start();
  std::uint64_t id = 0;
  for (int storm = 0; storm < 3; ++storm) {
    const std::uint64_t first = id + 1;
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(engine->submit(request(++id, 40)).ok());
    for (std::uint64_t victim = first; victim <= id; ++victim)
      engine->cancel(RequestId(victim), CancelCause::kClientGone);
    ASSERT_TRUE(ends.wait_for(id));
  }
  ASSERT_TRUE(engine->submit(request(++id, 40)).ok());
  ASSERT_TRUE(ends.wait_for(id));
  EXPECT_GE(ends.reasons().count(FinishReason::kStop), 1U);
  engine->stop();
  const EngineStatus status = engine->status();
  EXPECT_EQ(status.running + status.waiting, 0U);
  EXPECT_EQ(status.blocks_owned, 0U);
}

TEST(EngineThread, StoppingWhileWorkRunsEndsItAndLaterRequestsAreRefused) {
  Ends ends;
  const SteadyClock clock;
  FakeScript script;
  script.length = 100000;
  script.step_cost = std::chrono::milliseconds(1);
  auto engine = make_engine(ends, clock, script);
  engine->start();
  for (std::uint64_t id = 1; id <= 10; ++id) ASSERT_TRUE(engine->submit(request(id, 20)).ok());
  ASSERT_TRUE(ends.wait_for_tokens(20));
  engine->stop();
  EXPECT_EQ(ends.closed().size(), 10U);
  EXPECT_EQ(ends.reasons().count(FinishReason::kFailed), 10U);
  EXPECT_EQ(engine->submit(request(11, 5)).error().code, ErrorCode::kUnavailable);
}

// F13, F14: asked from another thread while a step hangs.
TEST(EngineThread, AHangingStepIsSeenFromOutsideAndReadinessComesBack) {
  Ends ends;
  const SteadyClock clock;
  FakeScript script;
  script.fail = FakeFailure::kStall;
  script.fail_step = 5;
  std::mutex mutex;
  std::condition_variable released;
  bool release = false;
  const SpendTime spend = [&](Duration cost) {
    if (cost < std::chrono::seconds(1)) return;
    std::unique_lock lock(mutex);
    released.wait(lock, [&] { return release; });
  };
  EngineOptions options;
  options.stall_after = std::chrono::milliseconds(20);
  auto engine = std::move(Engine::create(make_fake_executor(script, clock, spend), clock, options, {&ends}).value());
  engine->start();
  ASSERT_TRUE(engine->submit(request(1, 20)).ok());
  while (engine->status().ready) std::this_thread::yield();
  EXPECT_NE(engine->status().reason.find("no step was finished"), std::string::npos);
  const StallReport stall = engine->stall_report();
  EXPECT_TRUE(stall.executing);
  EXPECT_EQ(stall.sequences.size(), 1U);
  {
    const std::lock_guard lock(mutex);
    release = true;
  }
  released.notify_all();
  ASSERT_TRUE(ends.wait_for(1));
  while (!engine->status().ready) std::this_thread::yield();
  engine->stop();
}

}  // namespace
}  // namespace takt
