// Timelines of a real engine in virtual time.
#include <gtest/gtest.h>

#include <numeric>

#include "metrics/timelines.h"
#include "support/engine_harness.h"

namespace takt::metrics {
namespace {

Duration sum(const WaitTimes& times) {
  return std::accumulate(times.begin(), times.end(), Duration::zero());
}

// DESIGN promise 4: what a request waited for adds up to the time it waited, whatever happens to it.
TEST(TimelineOfAnEngine, EveryWaitIsExplainedByItsReasons) {
  FakeScript script = takt::testing::quick_script();
  script.block_count = 24;  // four long answers do not fit: some are preempted
  script.length = 60;
  EngineOptions options;
  options.sched.max_sequences = 3;
  ManualClock clock;
  Timelines timelines(100);
  auto created = Engine::create(make_fake_executor(script, clock, advance(clock)), clock, options, {&timelines});
  ASSERT_TRUE(created) << created.error().message;
  Engine& engine = **created;
  std::uint32_t preemptions = 0;
  for (std::uint64_t id = 1; id <= 12; ++id) {
    EngineRequest request;
    request.id = RequestId(id);
    request.prompt = takt::testing::letters(40, static_cast<std::uint32_t>(id));
    request.arrival = clock.now();
    request.labels.tier = id % 3 == 0 ? Tier::kRealtime : Tier::kBatch;
    request.max_tokens = 60;
    ASSERT_TRUE(engine.submit(std::move(request)));
    for (int i = 0; i < 5; ++i) engine.step();
  }
  for (int i = 0; i < 100000 && !engine.idle(); ++i) engine.step();
  for (std::uint64_t id = 1; id <= 12; ++id) {
    timelines.publish({Event{clock.now(), Delivered{RequestId(id)}}});
    const auto timeline = timelines.find(RequestId(id), clock.now());
    ASSERT_TRUE(timeline);
    preemptions += timeline->preemptions;
    TimePoint at = timeline->arrival;
    for (const Span& span : timeline->spans) {
      EXPECT_EQ(span.from, at) << "no time is unaccounted for";
      at = span.to;
      if (span.kind != SpanKind::kQueued && span.kind != SpanKind::kPreempted) continue;
      EXPECT_EQ(sum(span.reasons), span.length()) << "request " << id << ", " << to_string(span.kind);
    }
    EXPECT_EQ(at, clock.now());
  }
  EXPECT_GT(preemptions, 0u);
}

}  // namespace
}  // namespace takt::metrics
