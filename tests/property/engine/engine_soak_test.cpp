// E3: the engine's own cost per step does not grow with the steps it has done.
#include <gtest/gtest.h>

#include <ctime>

#include <algorithm>
#include <cstdlib>
#include <string>

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

TEST(EngineSoak, TheCostOfAStepDoesNotDrift) {
  FakeScript script = quick_script();
  script.block_count = 64;
  script.length = 12;
  ManualClock clock;
  CountingSink sink;
  EngineOptions options;
  options.sched.max_sequences = 4;
  auto engine =
      std::move(Engine::create(make_fake_executor(script, clock, advance(clock)), clock, options, {&sink}).value());
  std::uint64_t id = 0;
  const auto window = [&](std::size_t steps) {
    const double start = thread_cpu_seconds();
    for (std::size_t i = 0; i < steps; ++i) {
      if (i % 3 == 0 && engine->check_room({Tier::kRealtime}, 40, 1).ok() && engine->status().waiting < 8) {
        EngineRequest r;
        r.id = RequestId(++id);
        r.prompt = letters(5 + static_cast<std::uint32_t>(id % 40), static_cast<std::uint32_t>(id % 11));
        r.end_tokens = {kFakeImEnd};
        r.arrival = clock.now();
        EXPECT_TRUE(engine->submit(std::move(r)).ok());
      }
      engine->step();
    }
    return (thread_cpu_seconds() - start) / static_cast<double>(steps);
  };
  const std::size_t each = std::max<std::size_t>(100, soak_steps() / 20);
  std::vector<double> costs;
  window(each);
  for (int i = 0; i < 20; ++i) costs.push_back(window(each));
  const double early = *std::min_element(costs.begin(), costs.begin() + 6);
  const double late = *std::min_element(costs.end() - 6, costs.end());
  RecordProperty("early_us", std::to_string(early * 1e6));
  RecordProperty("late_us", std::to_string(late * 1e6));
  std::printf("cost per step: early %.2f us, late %.2f us\n", early * 1e6, late * 1e6);
  // Other work on the machine disturbs even CPU time; a leak or a growing list would show as a multiple.
  EXPECT_LT(late, early * 2.0);
  EXPECT_GT(sink.count, each);
}

}  // namespace
}  // namespace takt
