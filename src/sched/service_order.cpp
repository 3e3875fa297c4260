#include "sched/service_order.h"

#include <algorithm>
#include <utility>

namespace takt {

ServiceOrder::~ServiceOrder() {
  for (ServiceLane& lane : lanes_) {
    for (auto& [id, flow] : lane.by_tenant) flow.members.clear();
    lane.flows.clear();
    lane.arrivals.clear();
  }
}

ServiceLane& ServiceOrder::lane_at(std::size_t index) {
  while (lanes_.size() <= index) {
    ServiceLane& added = lanes_.emplace_back(memory_);
    added.index = lanes_.size() - 1;
    if (added.index > 0) added.service_class = ClassIndex(static_cast<std::uint32_t>(added.index - 1));
  }
  return lanes_[index];
}

void ServiceOrder::enter(ScheduledSequence& s, TenantLedger& ledger) {
  ServiceLane& lane = lane_at(s.lane);
  const bool takes_turns = rule_ == OrderRule::kFair;
  ServiceFlow& flow = lane.by_tenant[takes_turns ? s.facts.tenant : TenantId{}];
  if (flow.lane == nullptr) {
    flow.lane = &lane;
    flow.tenant = takes_turns ? s.tenant : nullptr;
    if (takes_turns) flow.next_of_tenant = std::exchange(s.tenant->flows, &flow);
  }
  const bool lifts = takes_turns && s.tenant->queued == 0;
  ledger.queued(*s.tenant, lifts ? lowest_level(lane) : std::nullopt);
  s.turn = {rule_ == OrderRule::kDeadline ? to_seconds(s.facts.deadline.time_since_epoch()) : 0.0, s.order};
  s.flow = &flow;
  if (!flow.members.empty()) lane.flows.erase(lane.flows.iterator_to(flow));
  flow.members.insert(s);
  lane.arrivals.insert(s);
  place(flow);
}

void ServiceOrder::leave(ScheduledSequence& s, TenantLedger& ledger) noexcept {
  ServiceFlow& flow = *s.flow;
  ServiceLane& lane = *flow.lane;
  lane.flows.erase(lane.flows.iterator_to(flow));
  flow.members.erase(flow.members.iterator_to(s));
  lane.arrivals.erase(lane.arrivals.iterator_to(s));
  s.flow = nullptr;
  ledger.unqueued(*s.tenant);
  if (!flow.members.empty()) return place(flow);
  if (flow.tenant != nullptr) {
    ServiceFlow** link = &flow.tenant->flows;
    while (*link != &flow) link = &(*link)->next_of_tenant;
    *link = flow.next_of_tenant;
  }
  lane.by_tenant.erase(flow.tenant != nullptr ? s.facts.tenant : TenantId{});
}

void ServiceOrder::place(ServiceFlow& flow) noexcept {
  const ScheduledSequence& head = *flow.members.begin();
  flow.turn = flow.tenant != nullptr ? Turn{flow.tenant->level(), head.order} : head.turn;
  flow.lane->flows.insert(flow);
}

void ServiceOrder::moved(const Tenant& tenant) noexcept {
  for (ServiceFlow* flow = tenant.flows; flow != nullptr; flow = flow->next_of_tenant) {
    ServiceLane::Flows& flows = flow->lane->flows;
    const auto at = flows.iterator_to(*flow);
    const Turn turn{tenant.level(), flow->turn.order};
    const auto next = std::next(at);
    const bool stays =
        (next == flows.end() || turn < next->turn) && (at == flows.begin() || std::prev(at)->turn < turn);
    if (stays) {
      flow->turn = turn;
      continue;
    }
    flows.erase(at);
    place(*flow);
  }
}

// Of those who wait in the class, else in the tier: a class may be held up for long by limits of its own, and whoever
// came to another one meanwhile at the level of its first would pass by all that wait there.
std::optional<double> ServiceOrder::lowest_level(const ServiceLane& own) const {
  if (!own.flows.empty()) return own.flows.begin()->turn.level;
  std::optional<double> lowest;
  for (const ServiceLane& lane : lanes_) {
    if (lane.flows.empty()) continue;
    const double level = lane.flows.begin()->turn.level;
    lowest = lowest ? std::min(*lowest, level) : level;
  }
  return lowest;
}

}  // namespace takt
