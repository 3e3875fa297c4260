// Decides, step by step, whose tokens are computed next. Bookkeeping only: no clock, no callback, no I/O, no model;
// time, memory and the step-time model come in as arguments. The cost of a plan depends on what runs and on a bounded
// number of queue heads, not on how many wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/capacity_view.h"
#include "core/step.h"
#include "core/step_time_model.h"
#include "sched/cascade_breaker.h"
#include "sched/limited_members.h"
#include "sched/options.h"
#include "sched/places.h"
#include "sched/plan_builder.h"
#include "sched/queue_heads.h"
#include "sched/service_walk.h"
#include "sched/tape.h"

namespace takt {

struct SchedulerCounts {
  std::uint32_t running = 0;
  std::uint32_t waiting = 0;  // everything else
};

// Plain view of one sequence, for status, stall reports and invariants.
struct SequenceView {
  SequenceId sequence;
  SequenceState state = SequenceState::kUnstarted;
  std::uint32_t known = 0;
  std::uint32_t computed = 0;
  std::uint32_t cover = 0;
  std::uint32_t swapped_until = 0;  // tokens from `computed` to here are in the swap arena; 0: none are
  WaitReason reason = WaitReason::kNone;
};

class Scheduler {
 public:
  Scheduler(const SchedulerOptions& options, ModelIndex model)
      : options_(options),
        model_(model),
        places_(options, &memory_),
        by_id_(&memory_),
        expiries_(&memory_),
        breaker_(options.breaker) {}

  // A sequence enters its tier's queue; one with a leader waits until the leader's prompt is computed. `now`: for the
  // wait accounts. When it throws, it knows nothing of the sequence.
  void add(const SequenceFacts& facts, TimePoint now);
  // Forgets the sequence, wherever it is. A leader that goes early hands its part to the next sibling.
  void remove(SequenceId sequence, TimePoint now);

  // Other rules, from the next plan on. Sequences that run go on, whatever the rules they joined under: seats that
  // there are too many of are not taken again; while more run than a step shall have rows, each still gets its row; and
  // preemption goes on until nobody is left who joined when it was allowed, since nothing else could free blocks for
  // them. Reserves of sequences that are there are set by set_reserve().
  void reconfigure(const SchedulerOptions& options, TimePoint now);
  // Positions whose blocks it takes when it is admitted the next time; 0: those of its known tokens.
  void set_reserve(SequenceId sequence, std::uint32_t tokens);

  // Sequences whose time in the queue is over. They stay until removed.
  std::vector<SequenceId> expired(TimePoint now) const;
  std::optional<TimePoint> next_expiry() const;

  // A sequence came to its natural end: how long answers get is what predicted admission goes by. Before remove().
  void note_length(SequenceId sequence);

  // What the view for the next plan must hold: cached prefixes of these, held tails of those. `now`: as for plan().
  // Valid until the next call.
  std::span<const SequenceId> queue_heads(TimePoint now);
  std::span<const SequenceId> holders(const CapacityView& view);
  // Those who hold blocks of classes whose blocks are reserved or limited, class by class: what they share.
  std::span<const std::vector<SequenceId>> members_of_limited_classes() { return limited_.name(options_, places_); }

  // The next step. Changes nothing but the wait accounts and the gates of windows and batches: a plan may be thrown
  // away. Into the memory of `plan`: with the same one again and again, planning and committing allocate nothing once
  // the scheduler has seen as much work as there is.
  void plan(TimePoint now, const CapacityView& view, const StepTimeModel& model, StepPlan& plan);
  StepPlan plan(TimePoint now, const CapacityView& view, const StepTimeModel& model);
  // After a plan that is empty although work waits: a sequence that can never be scheduled, if there is one.
  std::optional<SequenceId> unserviceable() const { return unserviceable_; }

  // The plan's drops happened. To be called before the step is executed.
  void apply_drops(const StepPlan& plan, TimePoint now) noexcept;
  // The plan's swap-ins happened, after its drops.
  void apply_swap_ins(const StepPlan& plan) noexcept;
  // What the sequence had in the swap arena is lost: what is behind `computed` is computed again.
  // Gives how many tokens that are.
  std::uint32_t lose_swapped(SequenceId sequence, std::uint32_t computed) noexcept;
  // The plan's step is done. `progress`: of entries that go on or end; an entry that is not named stays as it was.
  void commit(const StepPlan& plan, std::span<const SequenceProgress> progress, TimePoint now) noexcept;

  bool knows(SequenceId sequence) const { return by_id_.contains(sequence); }
  SchedulerCounts counts() const;
  WaitReason oldest_wait_reason() const;  // of the queues that were not served; realtime first
  WaitTimes waited(SequenceId sequence, TimePoint now) const;
  std::uint32_t preemptions(SequenceId sequence) const;
  std::uint32_t computed(SequenceId sequence) const;
  // Positions that running sequences' blocks reach and their tokens do not use.
  std::uint64_t unused_cover() const;
  // Whole blocks of so many tokens that running sequences hold behind all their known tokens.
  std::uint32_t unused_blocks(std::uint32_t block_tokens) const;
  // The running sequences, then up to `heads` of each queue.
  std::vector<SequenceView> look(std::size_t heads) const;
  void look(std::size_t heads, std::vector<SequenceView>& views) const;
  const TenantLedger& ledger(Tier tier) const { return places_.of(tier).ledger; }
  const SchedulerOptions& options() const { return options_; }

 private:
  SequenceList& list_of(const ScheduledSequence& sequence);
  WaitAccount* account_of(const ScheduledSequence& sequence);
  const WaitAccount* account_of(const ScheduledSequence& sequence) const;
  void move(SequenceList::iterator sequence, SequenceState to, TimePoint now) noexcept;
  void start(SequenceList::iterator sequence, const PlanEntry& entry, TimePoint now) noexcept;
  void release_siblings(SequenceId leader, TimePoint now) noexcept;
  void promote_sibling(SequenceId leader, TimePoint now) noexcept;
  std::size_t running_of(Tier tier) const;
  void forget_expiry(const ScheduledSequence& sequence);
  bool reserve_is_asked_for() const;
  void open_gates(TimePoint now);
  void close_batch(const StepPlan& plan, const Entrance& entrance);
  void name_waits(const Entrance& entrance, StepPlan& plan, TimePoint now);
  void note_passed_over(const StepPlan& plan, TimePoint now);
  void settle();

  SchedulerOptions options_;  // those in force
  ModelIndex model_;
  // After a change, until no sequence is left that needs the old rules.
  struct Transition {
    SchedulerOptions wanted;
    std::uint64_t last_of_old = 0;  // order of the last sequence that came before the change
  };
  std::optional<Transition> transition_;
  static constexpr std::size_t kLargestPooled = std::size_t{1} << 20;  // bytes
  // Of the queues and of what planning needs.
  std::pmr::unsynchronized_pool_resource memory_{std::pmr::pool_options{0, kLargestPooled}};
  SequencePlaces places_;
  PlanScratch scratch_;
  std::pmr::unordered_map<SequenceId, SequenceList::iterator> by_id_;
  std::pmr::set<std::pair<TimePoint, SequenceId>> expiries_;
  QueueHeads heads_;
  LimitedMembers limited_;
  std::vector<SequenceId> holders_;
  CascadeBreaker breaker_;
  BatchStep batch_step_;  // of the last plan
  std::uint64_t arrivals_ = 0;
  std::uint64_t plans_ = 0;
  TimePoint planned_at_{};
  PlanHistory history_;
  bool prefill_left_out_ = false;  // by the last plan
  std::optional<SequenceId> unserviceable_;
};

}  // namespace takt
