// Swap inside one plan: which tails leave for the arena instead of being dropped, and what comes back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/capacity_view.h"
#include "core/step.h"
#include "core/step_time_model.h"
#include "sched/block_market.h"
#include "sched/options.h"
#include "sched/places.h"

namespace takt {

// Whether the tokens from `first` on are back sooner from the arena than computed anew. `leave`: pages of them that
// would have to be copied out first; `swap`: what a page takes. Pure.
bool swap_is_quicker(const StepTimeModel& model, const SwapView& swap, std::uint32_t first, std::uint32_t tokens,
                     std::uint32_t leave, std::uint32_t come_back);

// Lives for one plan.
class SwapPlanner {
 public:
  // `plan`: its swap-ins and fetches are added to, its drops get their kinds.
  SwapPlanner(const SchedulerOptions& options, const CapacityView& view, const StepTimeModel& model, StepPlan& plan);

  // What the copying of this step may take goes by it. Before all that follows.
  void set_budget(Duration budget);
  // Pages that those who wait may send out in one step, so that it stays within its beat: what they need beyond that
  // they take in the next one. Empty where nothing can be copied, and so nothing takes time.
  std::optional<std::uint32_t> pages_out_at_once() const;
  // A swapped sequence has its place: as much of it comes back as has arrived and may in this step, and what has not is
  // read before that of others. A step with rows is lengthened by a small part of what these take; an empty one has a
  // part of its budget. At least a page in any case.
  void bring_back(const ScheduledSequence& sequence, std::uint32_t cover_tokens);

  // Sets the kind of each drop of the plan. Gives the blocks that are copied out. `market`: that made the drops. What
  // would take more of the step than copies may is computed again.
  std::uint32_t choose_kinds(const BlockMarket& market);
  // Blocks that come back.
  std::uint32_t blocks_in() const { return pages_in_ * view_.geometry.page_blocks(); }
  // The first swapped sequences of each tier: those that have a place, then in the order in which they resume. Who is
  // held up by something else than the arena keeps nobody from being read.
  void name_fetches(const SequencePlaces& places);

 private:
  void name(const ScheduledSequence& sequence);
  bool leaves_for_arena(const ScheduledSequence& sequence, const PlanDrop& drop, std::uint32_t room) const;
  bool may_swap() const;
  std::uint32_t room_out() const;
  std::uint32_t most_pages_in() const;
  std::uint32_t pages_within(double seconds) const;

  const SchedulerOptions& options_;
  const CapacityView& view_;
  const StepTimeModel& model_;
  StepPlan& plan_;
  Duration budget_{0};
  double page_seconds_ = 0.0;  // that a page's copy lasts
  std::uint32_t pages_in_ = 0;
  std::array<std::size_t, kTiers.size()> fetched_{};  // that are named, by tier
};

}  // namespace takt
