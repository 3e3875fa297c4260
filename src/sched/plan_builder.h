// Makes one plan: decode rows, then admission, then prefill inside what is left of the time budget.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/capacity_view.h"
#include "core/step.h"
#include "core/step_time_model.h"
#include "sched/block_market.h"
#include "sched/growth_reserve.h"
#include "sched/length_forecast.h"
#include "sched/options.h"
#include "sched/prefill_split.h"
#include "sched/sequence.h"

namespace takt {

// What planning remembers from the steps before.
struct PlanHistory {
  std::uint32_t decode_only_steps = 0;  // in a row, while prefill waited
  std::uint32_t batch_members = 0;      // that the closed batch has had
  LengthForecast lengths;               // of answers that came to their end
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
  Duration limit_beside_prompts() const;
  void add_decode_rows(Tier tier, Duration limit);
  bool add_decode_row(const ScheduledSequence& sequence);
  void start_admission();
  void collect_prompts(Tier tier);
  WaitReason walk_queue(const SequenceList& queue, std::uint64_t open_to);
  bool find_seat(const ScheduledSequence& sequence);
  bool admit(const ScheduledSequence& sequence);
  bool batch_is_closed() const;
  void grant_prefill(Tier tier);
  void grant_chunks(Tier tier, Duration limit, std::uint32_t most_rows);
  void grant_whole_prompts(Tier tier);
  void insist_on_prefill();
  void add_prompt(const Prompt& prompt, std::uint32_t tokens);
  void note_left_out(Tier tier);
  void pad(std::uint32_t rows);
  void pad_ended_rows();
  std::vector<Prompt>& prompts_of(Tier tier) { return prompts_[index_of(tier)]; }
  const CachedPrefix* cached_prefix(SequenceId sequence) const;

  const SchedulerOptions& options_;
  const CapacityView& view_;
  const StepTimeModel& model_;
  const SequencePlaces& places_;
  const PlanHistory& history_;

  StepPlan plan_;
  BlockMarket market_;
  std::optional<GrowthReserve> growth_;  // once the decode rows stand
  Duration planned_limit_{0};            // the budget less the margin
  std::array<std::vector<Prompt>, kTiers.size()> prompts_;
  bool prefills_ = false;  // the plan has an entry of a prompt
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
