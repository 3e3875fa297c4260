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

void ServiceOrder::enter(ScheduledSequence& s, TenantLedger& ledger) {
  while (lanes_.size() <= s.lane) {
    ServiceLane& added = lanes_.emplace_back(memory_);
    added.index = lanes_.size() - 1;
    if (added.index > 0) added.service_class = ClassIndex(static_cast<std::uint32_t>(added.index - 1));
  }
  ServiceLane& lane = lanes_[s.lane];
  const bool takes_turns = rule_ == OrderRule::kFair;
  ServiceFlow& flow = lane.by_tenant[takes_turns ? s.facts.tenant : TenantId{}];
  if (flow.lane == nullptr) {
    flow.lane = &lane;
    flow.tenant = takes_turns ? s.tenant : nullptr;
    if (takes_turns) flow.next_of_tenant = std::exchange(s.tenant->flows, &flow);
  }
  const bool lifts = takes_turns && s.tenant->queued == 0;
  ledger.queued(*s.tenant, lifts ? lowest_level() : std::nullopt);
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

std::optional<double> ServiceOrder::lowest_level() const {
  std::optional<double> lowest;
  for (const ServiceLane& lane : lanes_) {
    if (lane.flows.empty()) continue;
    const double level = lane.flows.begin()->turn.level;
    lowest = lowest ? std::min(*lowest, level) : level;
  }
  return lowest;
}

}  // namespace takt
