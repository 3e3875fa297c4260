// What the scheduler was told and what it answered, call by call: enough to run the same scheduler over it again.
#pragma once

#include <span>

#include "base/clock.h"
#include "core/capacity_view.h"
#include "core/ids.h"
#include "core/step.h"
#include "sched/options.h"
#include "sched/sequence.h"

namespace takt {

// Where a sequence stands after a step.
struct SequenceProgress {
  SequenceId sequence;
  std::uint32_t known = 0;
  std::uint32_t computed = 0;
};

// Called by the engine around its calls of the scheduler, in their order, on the engine thread. Must not block.
class SchedulerTape {
 public:
  virtual ~SchedulerTape() = default;

  // `memory`: geometry and totals, those of the swap arena too. Once, before anything else.
  virtual void started(const SchedulerOptions& options, const CapacityView& memory, TimePoint now) noexcept = 0;
  virtual void added(const SequenceFacts& facts, RequestId request, std::uint32_t choice, TimePoint now) noexcept = 0;
  // `natural_end`: its length was noted.
  virtual void removed(SequenceId sequence, bool natural_end, TimePoint now) noexcept = 0;
  // Other options from the next plan on.
  virtual void reconfigured(const SchedulerOptions& options, TimePoint now) noexcept = 0;
  virtual void reserve_set(SequenceId sequence, std::uint32_t tokens, TimePoint now) noexcept = 0;
  // What a waiting sequence had in the swap arena is lost; so many of its tokens are computed.
  virtual void swap_lost(SequenceId sequence, std::uint32_t computed, TimePoint now) noexcept = 0;
  // The plan's drops and swap-ins are applied right after it, if it has any; it need not be executed.
  virtual void planned(const CapacityView& view, const StepPlan& plan, TimePoint now) noexcept = 0;
  // The last plan was committed so far. `observed`: the step-time model learnt from it.
  virtual void committed(std::span<const SequenceProgress> progress, Duration measured, bool observed,
                         TimePoint now) noexcept = 0;
};

}  // namespace takt
