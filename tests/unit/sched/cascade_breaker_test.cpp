// Admission shrinks when preemptions come too fast, and grows again.
#include "sched/cascade_breaker.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/scheduler_world.h"

namespace takt {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::SchedulerWorld;

constexpr TimePoint kStart{seconds(1000)};
constexpr std::uint32_t kAll = std::numeric_limits<std::uint32_t>::max();

TEST(CascadeBreaker, TripsWhenAMinuteHasMoreThanTheLimitAndCountsAnew) {
  CascadeBreaker breaker({4, seconds(20)});
  for (int i = 0; i < 4; ++i) breaker.note_preemption({8, 0}, kStart + seconds(i));
  EXPECT_EQ(breaker.most_running(Tier::kRealtime, kStart + seconds(4)), kAll);
  breaker.note_preemption({8, 0}, kStart + seconds(4));
  EXPECT_EQ(breaker.most_running(Tier::kRealtime, kStart + seconds(4)), 4U);
  EXPECT_EQ(breaker.pressure(kStart + seconds(4)).trips, 1U);
  for (int i = 0; i < 4; ++i) breaker.note_preemption({4, 0}, kStart + seconds(4));
  EXPECT_EQ(breaker.pressure(kStart + seconds(4)).trips, 1U);
  EXPECT_EQ(breaker.pressure(kStart + seconds(4)).preemptions_last_minute, 4U);
}

TEST(CascadeBreaker, SlowPreemptionsNeverTripIt) {
  CascadeBreaker breaker({4, seconds(20)});
  for (int i = 0; i < 100; ++i) breaker.note_preemption({8, 8}, kStart + seconds(i * 16));
  EXPECT_FALSE(breaker.pressure(kStart + seconds(1700)).shrunk());
}

TEST(CascadeBreaker, TheBatchTierShrinksFirstAndRecoversLinearly) {
  CascadeBreaker breaker({1, seconds(20)});
  const auto trip = [&] {
    for (int i = 0; i < 2; ++i) breaker.note_preemption({8, 16}, kStart);
  };
  trip();
  EXPECT_EQ(breaker.most_running(Tier::kBatch, kStart), 8U);
  EXPECT_EQ(breaker.most_running(Tier::kRealtime, kStart), kAll);
  trip();
  trip();
  EXPECT_EQ(breaker.most_running(Tier::kBatch, kStart), 2U);
  EXPECT_EQ(breaker.most_running(Tier::kRealtime, kStart), kAll);
  trip();
  EXPECT_EQ(breaker.most_running(Tier::kRealtime, kStart), 4U) << "the batch tier is at its floor";
  EXPECT_DOUBLE_EQ(breaker.pressure(kStart + seconds(5)).batch_share, 0.125 + 0.25);
  EXPECT_DOUBLE_EQ(breaker.pressure(kStart + seconds(5)).realtime_share, 0.5 + 0.25);
  EXPECT_FALSE(breaker.pressure(kStart + seconds(18)).shrunk());
}

TEST(CascadeBreaker, ZeroTurnsItOff) {
  CascadeBreaker breaker({0, seconds(20)});
  for (int i = 0; i < 1000; ++i) breaker.note_preemption({8, 8}, kStart);
  EXPECT_EQ(breaker.most_running(Tier::kBatch, kStart), kAll);
}

struct Load {
  std::uint32_t prompt = 64;
  std::uint32_t output = 64;
  std::uint32_t waiting = 8;
};

// Tokens of ended answers a second, with always somebody waiting.
double throughput(SchedulerWorld& w, Duration time, const Load& load) {
  const TimePoint start = w.now;
  double tokens = 0;
  w.on_end = [&](const testing::WorldSequence& s) { tokens += s.facts.limit_tokens; };
  while (w.now < start + time) {
    const auto waiting =
        std::count_if(w.alive.begin(), w.alive.end(), [](const auto& entry) { return !entry.second.started; });
    for (auto i = waiting; i < load.waiting; ++i) w.add(load.prompt, load.output);
    w.step();
  }
  w.on_end = nullptr;
  EXPECT_EQ(w.broken, "");
  return tokens / to_seconds(w.now - start);
}

SchedulerOptions greedy(std::uint32_t limit) {
  SchedulerOptions o;
  o.watermark = 0;
  o.max_sequences = 64;
  o.breaker.preemptions_per_minute = limit;
  o.breaker.recovery = seconds(20);
  return o;
}

// B7: answers that outgrow the memory take blocks from each other without end; with the breaker more is done in all.
TEST(CascadeBreaker, InACascadeMoreGetsDoneWithItThanWithout) {
  const Load outgrowing{16, 600, 40};
  const auto run = [&](std::uint32_t limit) {
    SchedulerWorld w(greedy(limit), 120);
    const double tokens = throughput(w, seconds(240), outgrowing);
    return std::pair(tokens, w.scheduler.plan(w.now, w.view(), w.model).pressure);
  };
  const auto [with, pressure] = run(60);
  const auto [without, none] = run(0);
  EXPECT_GT(pressure.trips, 0U);
  EXPECT_EQ(none.trips, 0U);
  RecordProperty("with", std::to_string(with));
  RecordProperty("without", std::to_string(without));
  EXPECT_GE(with, without * 0.98);
}

// DESIGN 5: throughput a minute after a pressure event is what it was before.
TEST(CascadeBreaker, AMinuteAfterThePressureThroughputIsWhatItWas) {
  SchedulerWorld w(greedy(20), 200);
  throughput(w, seconds(30), {});
  const double before = throughput(w, seconds(60), {});
  // The event: many that outgrow the memory, until admission has shrunk.
  for (int i = 0; i < 60; ++i) w.add(16, 700);
  const TimePoint event = w.now;
  while (!w.last.pressure.shrunk() && w.now < event + seconds(300)) w.step();
  EXPECT_TRUE(w.last.pressure.shrunk());
  bool named = false;
  for (int i = 0; i < 200; ++i) {
    w.step();
    for (const QueueWait& wait : w.last.waits) named = named || wait.reason == WaitReason::kBreaker;
  }
  EXPECT_TRUE(named) << "who waits for the breaker is told so";
  // The pressure ends: what outgrew the memory is cancelled.
  std::vector<SequenceId> big;
  for (const auto& [id, s] : w.alive) {
    if (s.facts.limit_tokens > 600) big.push_back(id);
  }
  for (const SequenceId id : big) w.remove(id);
  throughput(w, seconds(60), {});
  const double after = throughput(w, seconds(60), {});
  EXPECT_NEAR(after / before, 1.0, 0.03);
  EXPECT_FALSE(w.last.pressure.shrunk());
}

}  // namespace
}  // namespace takt
