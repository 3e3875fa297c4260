// What is reserved for a class and was lent comes back in the step in which the class asks for it, before the step is
// filled: the newest borrowers lose their seats, or as much of their tails as is needed, and it is kept for the class.
#pragma once

#include <cstdint>

#include "core/capacity_view.h"
#include "sched/beat_guard.h"
#include "sched/block_market.h"
#include "sched/limit_book.h"
#include "sched/options.h"
#include "sched/places.h"

namespace takt {

struct ReserveReturnParts {
  const SchedulerOptions& options;
  const CapacityView& view;
  const SequencePlaces& places;
  BlockMarket& market;
  LimitBook& book;
  const BeatGuard& beat;
};

// Lives for one plan, before it has entries.
class ReserveReturn {
 public:
  explicit ReserveReturn(const ReserveReturnParts& parts) : parts_(parts) {}

  // Seats that were taken back from the claimants' own tier; from a lower one they take them when they are admitted.
  std::uint32_t take_back_seats();
  // Blocks for the first of each class that waits, as many as its reserve and the seats within its reach allow.
  void take_back_blocks(std::uint32_t seats_taken_back);

 private:
  bool has_blocks_for(const ScheduledSequence& sequence) const;
  void take_back_blocks_for(std::size_t lane, Tier tier, std::uint32_t seats);
  std::uint32_t seats_in_reach(std::size_t lane, Tier tier, std::uint32_t free_seats) const;

  ReserveReturnParts parts_;
};

}  // namespace takt
