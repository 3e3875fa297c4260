#include "sched/places.h"

#include <iterator>

namespace takt {

namespace {

void let_in(TierQueues& queues, ScheduledSequence& s, TimePoint now) {
  queues.starting.enter(s, queues.ledger);
  add_difference(s.waited, queues.held_waits.at(now), s.joined);
  s.joined = queues.starting.lanes()[s.lane].waits.at(now);
}

void hold_again(TierQueues& queues, ScheduledSequence& s, TimePoint now) {
  add_difference(s.waited, queues.starting.lanes()[s.lane].waits.at(now), s.joined);
  s.joined = queues.held_waits.at(now);
  queues.starting.leave(s, queues.ledger);
}

}  // namespace

void follow_gate(TierQueues& queues, TimePoint now) {
  if (queues.open_to == queues.ordered_to || queues.unstarted.empty()) return;
  if (queues.open_to >= queues.unstarted.back().order) {
    auto first = queues.unstarted.end();
    while (first != queues.unstarted.begin() && std::prev(first)->flow == nullptr) --first;
    for (; first != queues.unstarted.end(); ++first) let_in(queues, *first, now);
  } else {
    // A closed batch: its members are the first of the queue.
    for (ScheduledSequence& s : queues.unstarted) {
      if (s.order <= queues.open_to && s.flow == nullptr) let_in(queues, s, now);
      if (s.order > queues.open_to && s.flow == nullptr) break;
      if (s.order > queues.open_to) hold_again(queues, s, now);
    }
  }
  queues.ordered_to = queues.open_to;
}

void change_order(TierQueues& queues, OrderRule rule, TimePoint now) {
  if (queues.starting.rule() == rule) return;
  for (ScheduledSequence& s : queues.unstarted) {
    if (s.flow != nullptr) hold_again(queues, s, now);
  }
  queues.starting.set_rule(rule);
  queues.ordered_to = 0;
}

void leave_unstarted(TierQueues& queues, SequenceList::iterator s, bool started) noexcept {
  if (s->flow != nullptr) queues.starting.leave(*s, queues.ledger);
  if (s == queues.unstarted.begin()) {
    queues.oldest_overtaken -= s->overtakings;
  } else {
    std::prev(s)->overtakings += s->overtakings + (started ? 1 : 0);
    queues.oldest_overtaken += started ? 1 : 0;
  }
  s->overtakings = 0;
}

}  // namespace takt
