// When swap is quicker than computing again, and how much of it a step has.
#include "sched/swap_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/plain_step_time.h"
#include "unit/sched/scheduler_driver.h"

namespace takt {
namespace {

SwapView arena_with(double out_seconds, double in_seconds) {
  SwapView swap;
  swap.total_pages = swap.free_pages = swap.out_pages = 100;
  swap.out_seconds = out_seconds;
  swap.in_seconds = in_seconds;
  return swap;
}

TEST(SwapPlanner, SwapIsQuickerWhereComputingIsSlow) {
  testing::PlainStepTime model;
  model.per_token = std::chrono::milliseconds(1);
  // 64 tokens take 64 ms; four pages out and back 40 ms, or 80 ms.
  EXPECT_TRUE(swap_is_quicker(model, arena_with(0.005, 0.005), 0, 64, 4, 4));
  EXPECT_FALSE(swap_is_quicker(model, arena_with(0.010, 0.010), 0, 64, 4, 4));
}

TEST(SwapPlanner, WhatIsInTheArenaAlreadyNeedsNoWayOut) {
  testing::PlainStepTime model;
  model.per_token = std::chrono::milliseconds(1);
  EXPECT_FALSE(swap_is_quicker(model, arena_with(0.010, 0.010), 0, 64, 4, 4));
  EXPECT_TRUE(swap_is_quicker(model, arena_with(0.010, 0.010), 0, 64, 1, 4));
}

TEST(SwapPlanner, LaterTokensCostMoreToComputeAndTheSameToCopy) {
  testing::PlainStepTime model;
  model.per_token = std::chrono::microseconds(100);
  model.per_attended_ns = 1000;
  const SwapView swap = arena_with(0.005, 0.005);
  EXPECT_FALSE(swap_is_quicker(model, swap, 0, 64, 4, 4));
  EXPECT_TRUE(swap_is_quicker(model, swap, 4000, 64, 4, 4));
}

constexpr SequenceId kVictim{50};
constexpr std::uint64_t kChatSequence = 60;

// `streams` that decode, and a batch sequence of a hundred blocks and more beside them, which then loses blocks to a
// chat. A token costs 1 ms, a step 1 ms, the budget is 50 ms.
class SwappingStreams {
 public:
  SwappingStreams(std::uint32_t streams, Duration page) : driver_(options(), 116 + 2 * streams) {
    driver_.model.per_swapped = page;
    driver_.view.swap.total_pages = driver_.view.swap.free_pages = driver_.view.swap.out_pages = 1000;
    driver_.add(kVictim.value, 1600, 300, Tier::kBatch);
    step_until_all_decode(1);
    // Of various lengths, so that they do not all need a block in the same step.
    for (std::uint32_t id = 1; id <= streams; ++id) driver_.add(id, 1 + id * 7 % 16, 5000);
    step_until_all_decode(streams + 1);
    driver_.add(kChatSequence, 960, 16);
  }

  const StepPlan& step() {
    driver_.step();
    return driver_.last;
  }
  bool has_entry(std::uint64_t id) const {
    return std::any_of(driver_.last.entries.begin(), driver_.last.entries.end(),
                       [&](const PlanEntry& e) { return e.sequence == SequenceId(id); });
  }
  void end(std::uint64_t id) { driver_.scheduler.remove(SequenceId(id), driver_.now); }
  void all_pages_arrive() { driver_.view.swap.arrivals = {{kVictim, 60}}; }
  // What a plan brings back, in time of the copy.
  Duration copied_back(const StepPlan& plan) const {
    return plan.swap_ins.empty() ? Duration(0) : driver_.model.per_swapped * plan.features.swapped_blocks;
  }

 private:
  static SchedulerOptions options() {
    SchedulerOptions o;
    o.planning_margin = 0;
    o.watermark = 0;
    o.preemption = PreemptionRule::kSwap;
    o.batch_min_share = 0;
    return o;
  }
  void step_until_all_decode(std::uint32_t rows) {
    const StepFeatures& f = driver_.last.features;
    do {
      driver_.step();
    } while (driver_.now < TimePoint(std::chrono::seconds(60)) && (f.tokens != rows || f.decode_rows != rows));
    EXPECT_EQ(f.decode_rows, rows);
  }

  testing::SchedulerDriver driver_;
};

// A step with swap-outs stays near the beat, with few streams and with as many as fill it. What a chat needs
// beyond that is copied in the steps after it, none of it is computed again, and every stream has its row.
TEST(SwapPlanner, WhatLeavesForAChatLengthensNoStepBeyondABeatAndAQuarter) {
  for (const std::uint32_t streams : {1U, 8U, 38U}) {
    for (const Duration page : {Duration(std::chrono::microseconds(100)), Duration(std::chrono::microseconds(500)),
                                Duration(std::chrono::milliseconds(2))}) {
      SwappingStreams s(streams, page);
      std::uint32_t pages = 0;
      int steps = 0;
      do {
        const StepPlan& plan = s.step();
        ++steps;
        pages += plan.features.swapped_blocks;
        EXPECT_LE(page * plan.features.swapped_blocks, plan.budget / 4);
        EXPECT_LE(plan.predicted, plan.budget * 5 / 4) << streams << " streams";
        EXPECT_GE(plan.features.decode_rows, streams);
        for (const PlanDrop& drop : plan.drops) EXPECT_EQ(drop.kind, PreemptionKind::kSwap);
      } while (!s.has_entry(kChatSequence) && steps < 100);
      EXPECT_GE(pages, 30U);
      const Duration copies = page * pages;
      const auto fewest = static_cast<int>(copies / std::chrono::milliseconds(12));
      EXPECT_LE(steps, 2 + fewest * 3 / 2) << "nothing else is waited for";
    }
  }
}

// What comes back is a small part of what the streams' rows take, but a page; where nothing runs it comes at once.
TEST(SwapPlanner, WhatComesBackLengthensAStepByLittle) {
  for (const Duration page : {Duration(std::chrono::microseconds(20)), Duration(std::chrono::microseconds(100)),
                              Duration(std::chrono::milliseconds(5))}) {
    SwappingStreams s(8, page);
    for (int i = 0; i < 100 && !s.has_entry(kChatSequence); ++i) s.step();
    s.end(kChatSequence);
    s.all_pages_arrive();
    for (int i = 0; i < 2; ++i) {
      const StepPlan& plan = s.step();
      ASSERT_FALSE(plan.swap_ins.empty());
      const Duration rows = plan.predicted - s.copied_back(plan);
      EXPECT_LE(s.copied_back(plan), std::max(page, rows / 20));
    }
    for (std::uint64_t id = 1; id <= 8; ++id) s.end(id);
    const StepPlan& plan = s.step();
    ASSERT_FALSE(plan.swap_ins.empty());
    EXPECT_LE(s.copied_back(plan), std::chrono::milliseconds(10)) << "a twentieth of 200 ms";
    EXPECT_GE(s.copied_back(plan), page * (page < std::chrono::milliseconds(1) ? 20 : 1));
  }
}

}  // namespace
}  // namespace takt
