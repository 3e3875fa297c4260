// Makes one plan: decode rows, then admission, then prefill inside what is left of the time budget.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/capacity_view.h"
#include "core/step.h"
#include "core/step_time_model.h"
#include "sched/block_market.h"
#include "sched/options.h"
#include "sched/prefill_split.h"
#include "sched/sequence.h"

namespace takt {

// What planning remembers from the steps before.
struct PlanHistory {
  std::uint32_t decode_only_steps = 0;  // in a row, while prefill waited
};

// Lives for one call; reads the scheduler's state and changes none of it.
class PlanBuilder {
 public:
  PlanBuilder(const SchedulerOptions& options, const CapacityView& view, const StepTimeModel& model,
              const SequencePlaces& places, const PlanHistory& history);

  StepPlan build(StepId id, ModelIndex model);

  // After build(): why each tier's queues, as far as they got nothing, got nothing.
  WaitReason unstarted_reason(Tier tier) const { return unstarted_reasons_[index_of(tier)]; }
  WaitReason resuming_reason(Tier tier) const { return resuming_reasons_[index_of(tier)]; }
  // Prefill was wanted, and the plan has decode rows alone.
  bool prefill_was_left_out() const { return prefill_left_out_; }
  // The oldest waiting sequence needs blocks although nothing holds any: it can never be scheduled.
  const ScheduledSequence* unserviceable() const { return unserviceable_; }

 private:
  struct Prompt {
    const ScheduledSequence* sequence;
    std::uint32_t first_position;
    std::uint32_t cover_tokens;
    bool admits;
  };

  void choose_budget();
  void add_decode_rows();
  bool add_decode_row(const ScheduledSequence& sequence);
  void collect_prompts_under_way();
  void collect_admissible();
  WaitReason walk_queue(const SequenceList& queue);
  bool admit(const ScheduledSequence& sequence);
  void grant_prefill();
  void grant_tier(Tier tier, PrefillRoom& room);
  void add_prompt(const Prompt& prompt, std::uint32_t tokens);
  const CachedPrefix* cached_prefix(SequenceId sequence) const;

  const SchedulerOptions& options_;
  const CapacityView& view_;
  const StepTimeModel& model_;
  const SequencePlaces& places_;
  const PlanHistory& history_;

  StepPlan plan_;
  BlockMarket market_;
  Duration planned_limit_{0};  // the budget less the margin
  std::vector<Prompt> prompts_;
  std::uint32_t seats_left_ = 0;
  std::uint32_t admissible_ = 0;
  bool short_of_blocks_ = false;
  bool prefill_left_out_ = false;
  const ScheduledSequence* first_in_line_ = nullptr;
  const ScheduledSequence* unserviceable_ = nullptr;
  std::array<WaitReason, kTiers.size()> unstarted_reasons_{};
  std::array<WaitReason, kTiers.size()> resuming_reasons_{};
};

}  // namespace takt
