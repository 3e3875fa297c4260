// When swap is quicker than computing again.
#include "sched/swap_planner.h"

#include <gtest/gtest.h>

#include "support/plain_step_time.h"

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

}  // namespace
}  // namespace takt
