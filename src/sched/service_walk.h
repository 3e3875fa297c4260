// One look along a tier's queue while a plan is made: who is next to start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sched/places.h"

namespace takt {

// Assumes that whoever is taken is charged its prompt, so that tenants take turns inside one step too. Cost by how many
// are looked at, not by how many wait. Reads the queues and changes nothing; they must not change meanwhile.
class ServiceWalk {
 public:
  // Whom `max_overtakes` younger ones have passed is next, but where tenants take turns.
  void start(const TierQueues& queues, const FairWeights& weights, std::uint32_t max_overtakes);

  // The same one until it is taken or its lane is closed; nullptr when there is none.
  const ScheduledSequence* next();
  // Whether the one that next() gave is next because it was passed so often.
  bool is_urgent() const { return given_ != nullptr && !given_at_; }
  // The one that next() gave starts with this step.
  void take();
  // The one that next() gave does not start with this step, and those behind it may.
  void pass();
  // Nobody else of this lane starts with this step.
  void close_lane(std::size_t lane);

 private:
  struct Position {
    const ServiceFlow* flow;
    ServiceFlow::Members::const_iterator at;
  };
  struct Lane {
    ServiceLane::Flows::const_iterator next_flow;
    bool open = true;
  };

  const ScheduledSequence* most_overtaken();
  void skip_taken(Position& position) const;
  double taken_cost(const Tenant* tenant) const;
  Turn turn_of(const Position& position) const;
  std::optional<std::size_t> first_position();
  bool look_further(std::optional<std::size_t> first);

  const TierQueues* queues_ = nullptr;
  FairWeights weights_;
  std::uint32_t max_overtakes_ = 0;
  std::vector<Position> positions_;                      // flows that were looked at, by their next member
  std::vector<Lane> lanes_;                              // in the order of the queue's
  std::vector<std::pair<const Tenant*, double>> taken_;  // cost of those taken, by tenant
  std::vector<std::uint64_t> taken_orders_;
  SequenceList::const_iterator oldest_;  // of those not yet known to be overtaken too often
  std::uint64_t overtaken_ = 0;          // how often that one is
  std::uint64_t urgent_to_ = 0;          // those up to this order were next out of turn
  const ScheduledSequence* given_ = nullptr;
  std::optional<std::size_t> given_at_;  // empty: out of turn
};

}  // namespace takt
