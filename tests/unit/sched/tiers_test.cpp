// Realtime keeps what it needs, batch absorbs the rest. One token costs 1 ms, a step 1 ms.
#include <gtest/gtest.h>

#include "support/scheduler_world.h"
#include "unit/sched/scheduler_driver.h"

namespace takt {
namespace {

using std::chrono::milliseconds;
using testing::SchedulerDriver;
using testing::SchedulerWorld;

SchedulerOptions with_seats(std::uint32_t seats = 64) {
  SchedulerOptions o;
  o.planning_margin = 0;
  o.step_overhead = 0;
  o.watermark = 0;
  o.max_sequences = seats;
  return o;
}

TEST(Tiers, ARealtimeRequestTakesTheSeatOfTheNewestBatchSequenceInTheNextStep) {
  SchedulerDriver d(with_seats(3));
  for (std::uint64_t id = 1; id <= 3; ++id) d.add(id, 4, 1000, Tier::kBatch);
  d.step();
  d.add(9, 10);
  EXPECT_EQ(d.step(), "-3@4 1:1! 2:1! 9:10!");
  bool named = false;
  for (const QueueWait& wait : d.last.waits) named = named || wait.tier == Tier::kBatch;
  EXPECT_FALSE(named) << "the one that left shows in the next step";
  d.step();
  ASSERT_EQ(d.last.waits.size(), 1U);
  EXPECT_EQ(d.last.waits[0].queue, QueueKind::kResuming);
  EXPECT_EQ(d.last.waits[0].reason, WaitReason::kSeat);
  d.scheduler.remove(SequenceId(9), d.now);
  EXPECT_EQ(d.step(), "1:1! 2:1! 3:1!") << "its blocks are where they were";
}

TEST(Tiers, BatchNeverTakesASeatOrBlocksFromRealtime) {
  SchedulerDriver d(with_seats(2), 8);
  d.add(1, 48, 60);
  d.add(2, 48, 60);
  d.step();
  d.add(3, 16, 10, Tier::kBatch);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(d.step(), "1:1! 2:1!");
  EXPECT_EQ(d.last.waits[0].reason, WaitReason::kSeat);
}

TEST(Tiers, ARealtimePromptTakesBlocksFromRunningBatchWork) {
  SchedulerDriver d(with_seats(), 12);
  d.add(1, 64, 100, Tier::kBatch);
  d.add(2, 64, 100, Tier::kBatch);
  d.step();
  d.add(9, 96, 16);
  const std::string line = d.step();
  EXPECT_NE(line.find("9:"), std::string::npos) << line;
  EXPECT_EQ(line.substr(0, 3), "-2@") << line;
  EXPECT_EQ(line.find("-1@"), std::string::npos) << "only as much as is needed";
}

TEST(Tiers, InAStepWhereRealtimeTookFromBatchNoNewBatchWorkIsAdmitted) {
  SchedulerDriver d(with_seats(3));
  for (std::uint64_t id = 1; id <= 3; ++id) d.add(id, 4, 1000, Tier::kBatch);
  d.step();
  d.add(8, 4, 10, Tier::kBatch);
  d.add(9, 10);
  EXPECT_EQ(d.step(), "-3@4 1:1! 2:1! 9:10!");
  ASSERT_FALSE(d.last.waits.empty());
  EXPECT_EQ(d.last.waits[0].reason, WaitReason::kPreemption);
}

// Many batch rows would fill the step; a realtime prompt is computed before most of them, and every realtime stream has
// its row.
TEST(Tiers, BatchRowsLeaveTheStepToARealtimePrompt) {
  SchedulerDriver d(with_seats(), 4000);
  d.add(1, 4, 1000);
  for (std::uint64_t id = 11; id <= 50; ++id) d.add(id, 4, 1000, Tier::kBatch);
  for (int i = 0; i < 8; ++i) d.step();
  EXPECT_EQ(d.last.features.decode_rows, 41U) << "alone they may use what the step has";
  d.add(2, 400, 10);
  std::uint32_t steps = 0;
  std::uint32_t batch_rows = 0;
  bool done = false;
  while (!done && steps < 50) {
    d.step();
    ++steps;
    EXPECT_EQ(d.last.entries.front().sequence, SequenceId(1));
    EXPECT_LE(d.last.predicted, milliseconds(50));
    for (const PlanEntry& e : d.last.entries) {
      if (e.sequence.value >= 11) ++batch_rows;
      if (e.sequence == SequenceId(2) && e.samples) done = true;
    }
  }
  EXPECT_LE(steps, 9U) << "400 tokens at 45 or more a step";
  EXPECT_GE(batch_rows, steps * 2) << "their minimum share of the step";
}

// Who gets its first token in a step waits for the step's end, so batch work may not draw it out; a prompt alone may.
TEST(Tiers, BatchWorkDoesNotDrawOutTheStepOfARealtimePrompt) {
  SchedulerDriver d(with_seats(), 4000);
  d.add(1, 5000, 10, Tier::kBatch);
  d.step();
  EXPECT_EQ(d.last.predicted, milliseconds(200)) << "nobody waits for it";
  d.add(2, 20, 1);
  EXPECT_EQ(d.step(), "2:20! 1:29");
  d.scheduler.remove(SequenceId(2), d.now);
  d.add(3, 120, 1);
  d.step();
  EXPECT_EQ(d.last.entries.front().sequence, SequenceId(3));
  EXPECT_EQ(d.last.entries.front().token_count, 120U);
  EXPECT_EQ(d.last.predicted, milliseconds(121));
}

TEST(Tiers, BatchAbsorbsWhatRealtimeLeaves) {
  SchedulerDriver d(with_seats(), 4000);
  d.add(1, 4, 1000);
  d.add(2, 1000, 10, Tier::kBatch);
  d.step();
  for (int i = 0; i < 10; ++i) {
    d.step();
    EXPECT_EQ(d.last.predicted, milliseconds(50)) << "no step is left empty while work waits";
  }
}

// Promise 6: a realtime prompt that streams leave no room for costs batch work nothing, neither blocks nor a seat,
// until there is room for it; then it enters at once.
TEST(Tiers, NobodyGivesAnythingUpForAPromptThatCannotEnterAllTheSame) {
  for (const std::uint32_t seats : {4U, 64U}) {
    SchedulerWorld w(with_seats(seats), 100);
    const SequenceId stream = w.add(900, 300);
    for (int i = 0; i < 3; ++i) w.add(100, 1000, 0, Tier::kBatch);
    for (int i = 0; i < 10; ++i) w.step();
    ASSERT_EQ(w.running(), 4U);
    const SequenceId large = w.add(800, 10);
    for (int i = 0; i < 20; ++i) {
      w.step();
      EXPECT_TRUE(w.last.drops.empty()) << seats << " seats, step " << i;
      EXPECT_EQ(w.running(), 4U);
    }
    w.remove(stream);
    w.step();
    EXPECT_TRUE(w.alive.at(large).runs) << seats << " seats";
    EXPECT_EQ(w.broken, "");
  }
}

}  // namespace
}  // namespace takt
