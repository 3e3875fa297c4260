#include "sched/reserve_return.h"

#include <algorithm>

#include "sched/admission_needs.h"

namespace takt {

namespace {

std::uint32_t unused_seats(const SchedulerOptions& options, const SequencePlaces& places) {
  const auto running = static_cast<std::uint32_t>(places.running.size());
  return options.max_sequences - std::min(options.max_sequences, running);
}

}  // namespace

std::uint32_t ReserveReturn::take_back_seats() {
  if (parts_.options.join == JoinRule::kWhenEmpty) return 0;
  std::uint32_t taken = 0;
  const std::uint32_t free = unused_seats(parts_.options, parts_.places);
  for (const Tier tier : kTiers) {
    std::uint32_t left = free + taken;
    for (std::size_t lane = 0; lane < parts_.book.lanes(); ++lane) {
      // A class that lacks blocks keeps no other from its own.
      const LimitBook::Claim claim = parts_.book.claim_of(lane, tier);
      for (std::uint32_t seats = claim.seats; seats > 0; --seats) {
        if (left > 0) {
          --left;
        } else if (has_blocks_for(*claim.waits) && parts_.market.take_back_seat(*claim.waits)) {
          ++taken;
        } else {
          break;
        }
      }
    }
  }
  return taken;
}

bool ReserveReturn::has_blocks_for(const ScheduledSequence& s) const {
  const CapacityView& view = parts_.view;
  const GroupCounts need = view.geometry.blocks_for(s.known) - view.geometry.blocks_for(s.cover);
  return need.within(view.free + view.evictable) || parts_.book.may_claim_blocks(s.lane, need);
}

void ReserveReturn::take_back_blocks(std::uint32_t seats_taken_back) {
  const SchedulerOptions& options = parts_.options;
  if (options.join == JoinRule::kWhenEmpty || options.preemption == PreemptionRule::kNone) return;
  const std::uint32_t free = unused_seats(options, parts_.places) + seats_taken_back;
  for (std::size_t i = 0; i < options.classes.size(); ++i) {
    const ClassLimits& limits = options.classes[i].limits;
    if (limits.reserved.blocks <= 0.0) continue;
    const std::size_t lane = lane_of(ClassIndex(static_cast<std::uint32_t>(i)));
    if (const std::uint32_t seats = seats_in_reach(lane, limits.tier, free); seats > 0)
      take_back_blocks_for(lane, limits.tier, seats);
  }
}

std::uint32_t ReserveReturn::seats_in_reach(std::size_t lane, Tier tier, std::uint32_t free_seats) const {
  if (parts_.book.seat_is_above_ceiling(lane)) return 0;
  if (free_seats > 0 && parts_.book.is_entitled_to_seat(lane)) return free_seats;
  const std::uint32_t others = parts_.book.seats_of_others(lane, tier);
  const std::uint32_t below = tier == Tier::kRealtime ? parts_.book.seats_of(Tier::kBatch) : 0;
  return free_seats + below - std::min(free_seats + below, others);
}

// Preempted ones first, then by their turn, as they are admitted.
void ReserveReturn::take_back_blocks_for(std::size_t lane, Tier tier, std::uint32_t seats) {
  const TierQueues& queues = parts_.places.of(tier);
  GroupCounts wanted;
  const ScheduledSequence* first = nullptr;
  const auto claim = [&](const ScheduledSequence& s) {
    const GroupCounts more = wanted + needs_of(s, parts_.options, parts_.view).blocks;
    if (seats == 0 || !parts_.beat.leaves_time_for(s) || !parts_.book.may_claim_blocks(lane, more)) return false;
    wanted = more;
    --seats;
    if (first == nullptr) first = &s;
    return true;
  };
  for (const ScheduledSequence& s : queues.resuming) {
    if (s.lane == lane && !claim(s)) break;
  }
  const auto& lanes = queues.starting.lanes();
  if (lane < lanes.size()) {
    for (const ServiceFlow& flow : lanes[lane].flows) {
      const bool all = std::all_of(flow.members.begin(), flow.members.end(), claim);
      if (!all) break;
    }
  }
  if (first != nullptr) parts_.market.keep_for(*first, wanted);
}

}  // namespace takt
