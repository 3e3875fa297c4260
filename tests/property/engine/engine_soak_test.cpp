// E3: the engine's own cost per step, and what it keeps, do not grow with the steps it has done.
#include <gtest/gtest.h>

#include <ctime>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "support/allocation_counter.h"
#include "support/engine_harness.h"

namespace takt {
namespace {

using testing::EngineHarness;
using testing::letters;
using testing::quick_script;

double thread_cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

class CountingSink final : public EventSink {
 public:
  void publish(const std::vector<Event>& events) noexcept override { count += events.size(); }
  std::size_t count = 0;
};

// TAKT_SOAK_STEPS sets the number of steps (1,000,000 for the full soak).
std::size_t soak_steps() {
  if (const char* steps = std::getenv("TAKT_SOAK_STEPS")) return static_cast<std::size_t>(std::stoull(steps));
  return 20000;
}

// One run of short requests, in windows of the same number of steps.
class Soak {
 public:
  Soak() {
    FakeScript script = quick_script();
    script.block_count = 64;
    script.length = 12;
    EngineOptions options;
    options.sched.max_sequences = 4;
    engine_ = std::move(
        Engine::create(make_fake_executor(script, clock_, advance(clock_)), clock_, options, {&sink_}).value());
  }

  struct Cost {
    double seconds = 0.0;         // of CPU time, per step
    double allocations = 0.0;     // per step
    std::int64_t most_bytes = 0;  // alive after any of its steps
    std::uint64_t requests = 0;
  };
  Cost window(std::size_t steps) {
    Cost cost;
    const double start = thread_cpu_seconds();
    const std::uint64_t allocations = testing::allocation_count.load();
    const std::uint64_t first = id_;
    for (std::size_t i = 0; i < steps; ++i) {
      if (engine_->check_room({Tier::kRealtime}, 40, 1).ok() && engine_->status().waiting < 8) submit();
      engine_->step();
      cost.most_bytes = std::max(cost.most_bytes, testing::live_allocated_bytes.load());
    }
    cost.seconds = (thread_cpu_seconds() - start) / static_cast<double>(steps);
    cost.allocations = static_cast<double>(testing::allocation_count.load() - allocations) / static_cast<double>(steps);
    cost.requests = id_ - first;
    return cost;
  }
  std::size_t events() const { return sink_.count; }

 private:
  void submit() {
    EngineRequest r;
    r.id = RequestId(++id_);
    r.prompt = letters(5 + static_cast<std::uint32_t>(id_ % 40), static_cast<std::uint32_t>(id_ % 11));
    r.end_tokens = {kFakeImEnd};
    r.arrival = clock_.now();
    EXPECT_TRUE(engine_->submit(std::move(r)).ok());
  }

  ManualClock clock_;
  CountingSink sink_;
  std::unique_ptr<Engine> engine_;
  std::uint64_t id_ = 0;
};

TEST(EngineSoak, TheCostOfAStepDoesNotDrift) {
  Soak soak;
  const std::size_t each = std::max<std::size_t>(1000, soak_steps() / 20);
  std::vector<Soak::Cost> costs;
  soak.window(each);
  for (int i = 0; i < 20; ++i) costs.push_back(soak.window(each));
  const auto worst = [](auto first, auto last, auto of) {
    auto most = of(*first);
    for (; first != last; ++first) most = std::max(most, of(*first));
    return most;
  };
  const auto allocations = [](const Soak::Cost& c) { return c.allocations; };
  const auto bytes = [](const Soak::Cost& c) { return c.most_bytes; };
  const auto seconds = [](const Soak::Cost& c) { return -c.seconds; };  // the best is the least disturbed
  const auto early = costs.begin() + 6;
  const auto late = costs.end() - 6;
  const double early_allocations = worst(costs.begin(), early, allocations);
  const double late_allocations = worst(late, costs.end(), allocations);
  const std::int64_t early_bytes = worst(costs.begin(), early, bytes);
  const std::int64_t late_bytes = worst(late, costs.end(), bytes);
  const double early_us = -worst(costs.begin(), early, seconds) * 1e6;
  const double late_us = -worst(late, costs.end(), seconds) * 1e6;
  std::printf("per step: %.2f us and %.2f allocations early, %.2f us and %.2f late; bytes alive: %ld, %ld\n", early_us,
              early_allocations, late_us, late_allocations, static_cast<long>(early_bytes),
              static_cast<long>(late_bytes));
  EXPECT_LE(late_allocations, early_allocations * 1.01);
  EXPECT_LE(late_bytes, early_bytes + 4096);
  // Other work on the machine disturbs even CPU time; a list that is walked to its end would show as a multiple.
  EXPECT_LT(late_us, early_us * 2.0);
  EXPECT_GT(soak.events(), each);
  for (const Soak::Cost& cost : costs) EXPECT_GT(cost.requests, each / 20);
}

}  // namespace
}  // namespace takt
