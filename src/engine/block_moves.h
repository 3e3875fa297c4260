// What a plan does with blocks before its step runs: tails are given up, dropped or copied to the swap arena, and pages
// come back from there or are read ahead.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "core/step.h"
#include "engine/event_log.h"
#include "engine/lifecycle.h"
#include "engine/swap_traffic.h"
#include "kv/kv_cache.h"
#include "sched/scheduler.h"
#include "sched/tape.h"

namespace takt {

// All that must hear of it.
struct BlockMovesParts {
  KvCache& kv;
  Scheduler& scheduler;
  Lifecycle& lifecycle;
  EventLog& events;
  SwapTraffic& swap;
  SchedulerTape* tape = nullptr;  // null where nothing is recorded
};

class BlockMoves {
 public:
  explicit BlockMoves(const BlockMovesParts& parts) : parts_(parts) {}

  // Takes note of transfers that are over; whose pages are lost is computed again.
  void follow(TimePoint now);
  // Carries out the plan's drops, then its swap-ins; one that cannot come back leaves the plan. Both stand whatever
  // becomes of the step.
  void apply(StepPlan& plan, TimePoint now);

 private:
  void apply_drops(const StepPlan& plan, TimePoint now);
  bool give_up_tail(const PlanDrop& drop, std::uint32_t computed);
  void apply_swap_ins(StepPlan& plan, TimePoint now);
  Result<Reservation> hold_prefixes(const StepPlan& plan);
  void lose_swapped(SequenceId sequence, std::uint32_t computed, TimePoint now);

  BlockMovesParts parts_;
  std::vector<std::pair<SequenceId, std::uint32_t>> lost_;  // with what is computed
  std::vector<ReserveRequest> prefixes_;
};

}  // namespace takt
