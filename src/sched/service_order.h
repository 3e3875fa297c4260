// In which order the unstarted sequences of one tier start: a queue per service class, so that a class at its ceiling
// holds up nobody else, and in it by arrival, by deadline, or by what their tenants have had.
#pragma once

#include <boost/intrusive/set.hpp>
#include <cstdint>
#include <deque>
#include <memory_resource>
#include <optional>
#include <unordered_map>

#include "sched/options.h"
#include "sched/sequence.h"
#include "sched/tenant_ledger.h"
#include "sched/wait_account.h"

namespace takt {

struct ServiceLane;

// Classes beyond any table share the first lane.
inline std::size_t lane_of(ClassIndex service_class) {
  return service_class.value < kMostClasses ? service_class.value + std::size_t{1} : 0;
}

struct ByTurn {
  bool operator()(const ScheduledSequence& a, const ScheduledSequence& b) const { return a.turn < b.turn; }
};
struct ByArrival {
  bool operator()(const ScheduledSequence& a, const ScheduledSequence& b) const { return a.order < b.order; }
};

// Sequences of one class among which only their own order counts: of one tenant where tenants take turns, else all.
struct ServiceFlow : boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> {
  using Members = boost::intrusive::set<ScheduledSequence, boost::intrusive::base_hook<TurnHook>,
                                        boost::intrusive::compare<ByTurn>>;
  ServiceLane* lane = nullptr;
  Tenant* tenant = nullptr;  // where tenants take turns
  ServiceFlow* next_of_tenant = nullptr;
  Members members;
  Turn turn;  // its place in the lane
  bool operator<(const ServiceFlow& other) const { return turn < other.turn; }
};

struct ServiceLane {
  using Flows = boost::intrusive::set<ServiceFlow>;
  using Arrivals = boost::intrusive::set<ScheduledSequence, boost::intrusive::base_hook<ArrivalHook>,
                                         boost::intrusive::compare<ByArrival>>;
  explicit ServiceLane(std::pmr::memory_resource* memory) : by_tenant(memory) {}

  std::size_t index = 0;
  ClassIndex service_class = kNoClass;
  std::pmr::unordered_map<TenantId, ServiceFlow> by_tenant;
  Flows flows;
  Arrivals arrivals;
  WaitAccount waits;
};

class ServiceOrder {
 public:
  ServiceOrder(OrderRule rule, std::pmr::memory_resource* memory) : rule_(rule), memory_(memory) {}
  ServiceOrder(const ServiceOrder&) = delete;
  ServiceOrder& operator=(const ServiceOrder&) = delete;
  ~ServiceOrder();

  // `sequence` may start from now on, until leave(). It stays where it is in memory meanwhile.
  void enter(ScheduledSequence& sequence, TenantLedger& ledger);
  void leave(ScheduledSequence& sequence, TenantLedger& ledger) noexcept;
  // The queue of a class, made when it is first asked for.
  ServiceLane& lane_at(std::size_t index);
  // The tenant's level changed.
  void moved(const Tenant& tenant) noexcept;
  // Only while it is empty.
  void set_rule(OrderRule rule) { rule_ = rule; }

  OrderRule rule() const { return rule_; }
  std::deque<ServiceLane>& lanes() { return lanes_; }
  const std::deque<ServiceLane>& lanes() const { return lanes_; }

 private:
  std::optional<double> lowest_level(const ServiceLane& own) const;
  void place(ServiceFlow& flow) noexcept;

  OrderRule rule_;
  std::pmr::memory_resource* memory_;
  std::deque<ServiceLane> lanes_;
};

}  // namespace takt
