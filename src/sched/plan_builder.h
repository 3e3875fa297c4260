// Makes one plan: decode rows, then admission, then prefill inside what is left of the time budget.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <vector>

#include "core/capacity_view.h"
#include "core/step.h"
#include "core/step_time_model.h"
#include "sched/block_market.h"
#include "sched/entrance.h"
#include "sched/length_forecast.h"
#include "sched/limit_book.h"
#include "sched/minimum_share.h"
#include "sched/options.h"
#include "sched/places.h"
#include "sched/prefill_split.h"
#include "sched/service_walk.h"

namespace takt {

// What planning remembers from the steps before.
struct PlanHistory {
  std::uint32_t decode_only_steps = 0;  // in a row, while prefill waited
  std::uint32_t batch_members = 0;      // that the closed batch has had
  LengthForecast lengths;               // of answers that came to their end
  MinimumShare minimum_share;
  MostRunning most_running{};  // as of now
};

struct PlanInputs {
  const SchedulerOptions& options;
  const CapacityView& view;
  const StepTimeModel& model;
  const SequencePlaces& places;
  const PlanHistory& history;
};

// Kept between plans for its memory alone.
struct PlanScratch {
  ServiceWalk walk;
  LimitBook book;
  std::vector<PromptCandidate> candidates;
  std::vector<Prompt*> chosen;
};

using BatchStep = MinimumShare::Step;

// Empty as a new one, with the memory of its lists.
void clear_plan(StepPlan& plan);

// Lives for one call; reads the scheduler's state and changes none of it.
class PlanBuilder {
 public:
  // Fills `plan`, of which only the memory counts.
  PlanBuilder(const PlanInputs& inputs, PlanScratch& scratch, StepPlan& plan);

  void build(StepId id, ModelIndex model);

  // After build(): who was let in, and why the others were not.
  const Entrance& entrance() const { return *entrance_; }
  // Prefill was wanted, and the plan has decode rows alone.
  bool prefill_was_left_out() const { return prefill_left_out_; }
  // The oldest waiting sequence needs blocks although nothing holds any: it can never be scheduled.
  const ScheduledSequence* unserviceable() const { return unserviceable_; }
  // What the batch tier has of the step, without its time.
  BatchStep batch_step();

 private:
  struct ChunkRoom {
    Duration limit;
    std::uint32_t rows = 0;
    std::optional<std::size_t> lane;
  };

  void choose_budget();
  void count_copies();
  void look_at_batch();
  Duration left_aside() const;
  Duration less_margin(Duration budget) const;
  Duration limit_beside_prompts() const;
  Duration limit_of_batch();
  void add_decode_rows(Tier tier, Duration limit, std::uint32_t most = std::numeric_limits<std::uint32_t>::max());
  bool add_decode_row(const ScheduledSequence& sequence);
  void collect_prompts(Tier tier);
  void grant_prefill(Tier tier, Duration limit);
  void grant_chunks(Tier tier, const ChunkRoom& room);
  void grant_whole_prompts(Tier tier);
  void insist_on_prefill();
  void insist_on_batch();
  Duration missing_part() const;
  double batch_part() const;
  bool batch_wants_more();
  void add_prompt(Prompt& prompt, std::uint32_t tokens);
  PromptCandidate candidate(const Prompt& prompt);
  void pad(std::uint32_t rows);
  void pad_ended_rows();
  void note_added(const ScheduledSequence& sequence, Duration before);
  Duration time_so_far() const;
  Duration& spent(std::size_t lane);
  Duration left_to(std::size_t lane, Tier tier);
  std::pmr::vector<Prompt>& prompts_of(Tier tier) { return prompts_[index_of(tier)]; }

  const SchedulerOptions& options_;
  const CapacityView& view_;
  const StepTimeModel& model_;
  const SequencePlaces& places_;
  const PlanHistory& history_;
  PlanScratch& scratch_;

  StepPlan& plan_;
  BlockMarket market_;
  SwapPlanner swap_;
  BeatGuard beat_;
  std::optional<Entrance> entrance_;  // once the decode rows stand
  Duration planned_limit_{0};         // the budget less the margin
  Duration set_aside_{0};             // of that, for the batch tier
  BatchStep batch_step_;
  const Duration without_rows_;                  // what a step takes beside its rows
  std::array<Duration, kTiers.size()> added_{};  // to the step's time by entries, by tier
  std::pmr::vector<Duration> spent_by_lane_;     // the same, by lane
  std::array<std::pmr::vector<Prompt>, kTiers.size()> prompts_;
  bool prefills_ = false;  // the plan has an entry of a prompt
  bool prefill_left_out_ = false;
  const ScheduledSequence* unserviceable_ = nullptr;
};

}  // namespace takt
