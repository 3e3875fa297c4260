#include "sched/service_walk.h"

#include <algorithm>
#include <utility>

namespace takt {

void ServiceWalk::start(const TierQueues& queues, const FairWeights& weights, std::uint32_t max_overtakes) {
  queues_ = &queues;
  weights_ = weights;
  max_overtakes_ = max_overtakes;
  positions_.clear();
  lanes_.clear();
  taken_.clear();
  taken_orders_.clear();
  for (const ServiceLane& lane : queues.starting.lanes()) lanes_.push_back({lane.flows.begin(), true});
  oldest_ = queues.unstarted.begin();
  overtaken_ = queues.oldest_overtaken;
  urgent_to_ = 0;
  given_ = nullptr;
}

// The oldest ones of the tier, as long as they have been passed too often.
const ScheduledSequence* ServiceWalk::most_overtaken() {
  // Where tenants take turns, what they have had is the bound.
  if (queues_->starting.rule() == OrderRule::kFair) return nullptr;
  const auto is_taken = [&](std::uint64_t order) {
    return order <= urgent_to_ || std::find(taken_orders_.begin(), taken_orders_.end(), order) != taken_orders_.end();
  };
  for (; oldest_ != queues_->unstarted.end() && oldest_->flow != nullptr; ++oldest_) {
    if (!is_taken(oldest_->order)) {
      if (overtaken_ < max_overtakes_) return nullptr;
      if (lanes_[oldest_->lane].open) return &*oldest_;
      urgent_to_ = oldest_->order;
    }
    overtaken_ -= oldest_->overtakings;
  }
  return nullptr;
}

double ServiceWalk::taken_cost(const Tenant* tenant) const {
  if (tenant == nullptr) return 0.0;
  const auto it = std::find_if(taken_.begin(), taken_.end(), [&](const auto& entry) { return entry.first == tenant; });
  return it == taken_.end() ? 0.0 : it->second;
}

void ServiceWalk::skip_taken(Position& p) const {
  while (p.at != p.flow->members.end() && p.at->order <= urgent_to_) ++p.at;
}

Turn ServiceWalk::turn_of(const Position& p) const {
  if (p.flow->tenant == nullptr) return p.at->turn;
  return {p.flow->turn.level + taken_cost(p.flow->tenant), p.at->order};
}

std::optional<std::size_t> ServiceWalk::first_position() {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < positions_.size(); ++i) {
    Position& p = positions_[i];
    skip_taken(p);
    if (!lanes_[p.flow->lane->index].open || p.at == p.flow->members.end()) continue;
    if (!first || turn_of(p) < turn_of(positions_[*first])) first = i;
  }
  return first;
}

// Looks at the next flow of a class when it may come before `first`: flows are in the order of their turns, but for
// those whose tenant was given something in this walk.
bool ServiceWalk::look_further(std::optional<std::size_t> first) {
  bool looked = false;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[i];
    if (!lane.open || lane.next_flow == queues_->starting.lanes()[i].flows.end()) continue;
    const ServiceFlow& flow = *lane.next_flow;
    const bool may_be_next = !first || flow.turn < turn_of(positions_[*first]) || taken_cost(flow.tenant) > 0.0;
    if (!may_be_next) continue;
    positions_.push_back({&flow, flow.members.begin()});
    ++lane.next_flow;
    looked = true;
  }
  return looked;
}

const ScheduledSequence* ServiceWalk::next() {
  if (given_ != nullptr && lanes_[given_->lane].open) return given_;
  given_at_.reset();
  given_ = most_overtaken();
  if (given_ != nullptr) return given_;
  do {
    given_at_ = first_position();
  } while (look_further(given_at_));
  given_ = given_at_ ? &*positions_[*given_at_].at : nullptr;
  return given_;
}

void ServiceWalk::take() {
  const ScheduledSequence& s = *std::exchange(given_, nullptr);
  if (given_at_) {
    ++positions_[*given_at_].at;
    taken_orders_.push_back(s.order);
    if (oldest_ != queues_->unstarted.end() && s.order > oldest_->order) ++overtaken_;
  } else {
    urgent_to_ = s.order;
  }
  if (s.flow->tenant == nullptr) return;
  const double cost = weights_.prompt * s.facts.prompt_tokens / s.weight;
  const auto it =
      std::find_if(taken_.begin(), taken_.end(), [&](const auto& entry) { return entry.first == s.tenant; });
  if (it == taken_.end()) {
    taken_.emplace_back(s.tenant, cost);
  } else {
    it->second += cost;
  }
}

void ServiceWalk::pass() {
  const ScheduledSequence& s = *std::exchange(given_, nullptr);
  if (given_at_) {
    ++positions_[*given_at_].at;
  } else {
    urgent_to_ = s.order;
  }
}

void ServiceWalk::close_lane(std::size_t lane) {
  lanes_[lane].open = false;
}

}  // namespace takt
