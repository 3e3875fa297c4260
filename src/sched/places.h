// Where the sequences of a scheduler are.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>

#include "sched/sequence.h"
#include "sched/service_order.h"
#include "sched/tenant_ledger.h"
#include "sched/wait_account.h"

namespace takt {

struct TierQueues {
  TierQueues(const SchedulerOptions& options, std::pmr::memory_resource* memory)
      : ledger(options.fair, memory),
        unstarted(memory),
        resuming(memory),
        siblings(memory),
        starting(options.order, memory) {}

  TenantLedger ledger;
  SequenceList unstarted;  // in order of arrival
  SequenceList resuming;   // in order of arrival: preempted ones, and siblings whose prompt is computed
  SequenceList siblings;
  std::uint64_t open_to = 0;  // unstarted ones up to this order may start; those behind wait for a window or the batch
  std::uint64_t ordered_to = 0;  // the same, as of the last look: these are in `starting`
  ServiceOrder starting;
  WaitAccount held_waits;  // of unstarted ones that may not start yet
  WaitAccount resuming_waits;
  WaitAccount sibling_waits;
  // How often younger ones started before the oldest unstarted one: the sum of `overtakings` over all unstarted ones.
  // The one behind which somebody younger left has it noted; that is true of all older ones too.
  std::uint64_t oldest_overtaken = 0;
};

struct SequencePlaces {
  // `memory`: for all that planning and its queues need; outlives the places. Plans allocate nothing where it keeps
  // what it has got.
  SequencePlaces(const SchedulerOptions& options, std::pmr::memory_resource* pool)
      : memory(pool), tiers{TierQueues(options, pool), TierQueues(options, pool)}, running(pool) {}

  std::pmr::memory_resource* memory;
  std::array<TierQueues, kTiers.size()> tiers;
  SequenceList running;

  TierQueues& of(Tier tier) { return tiers[index_of(tier)]; }
  // Lanes of the tier that has most.
  std::size_t lanes() const { return std::max(tiers[0].starting.lanes().size(), tiers[1].starting.lanes().size()); }
  const TierQueues& of(Tier tier) const { return tiers[index_of(tier)]; }
};

// Brings the order of a tier's unstarted sequences in line with its gate: cost by what was let through.
void follow_gate(TierQueues& queues, TimePoint now);
// Another rule for the order of those that may start; follow_gate() puts them in again.
void change_order(TierQueues& queues, OrderRule rule, TimePoint now);
// `sequence` is about to leave the list of unstarted ones: because it `started`, or was given up.
void leave_unstarted(TierQueues& queues, SequenceList::iterator sequence, bool started) noexcept;

}  // namespace takt
