// Who is let in by the rules of docs/scheduling.md, computed the slow way: every decision looks at every sequence.
// Memory and step time are taken to be endless, and nobody is preempted but for a seat.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "core/step.h"
#include "sched/options.h"
#include "sched/sequence.h"

namespace takt::testing {

class NaiveAdmission {
 public:
  explicit NaiveAdmission(const SchedulerOptions& options) : options_(options) {}

  void add(const SequenceFacts& facts) { sequences_[facts.id] = {facts, ++arrivals_}; }
  void remove(SequenceId id) {
    const Sequence gone = sequences_.at(id);
    sequences_.erase(id);
    if (gone.state == State::kQueued) note_unqueued(gone);
  }

  // Who enters, and who is put out of its seat, in the next step.
  struct Decision {
    std::set<SequenceId> enters;
    std::set<SequenceId> put_out;
    bool operator==(const Decision&) const = default;
  };
  Decision decide() {
    open_queue();
    Decision decision;
    Step step{decision};
    step.seats = options_.max_sequences - count([](const Sequence& s) { return s.state == State::kRunning; });
    for (const Tier tier : kTiers) take_back(tier, step);
    for (const Tier tier : kTiers) let_in(tier, step);
    return decision;
  }

  // The step was done.
  void follow(const StepPlan& plan) {
    for (const PlanDrop& drop : plan.drops) sequences_.at(drop.sequence).state = State::kResuming;
    for (const PlanEntry& e : plan.entries) {
      Sequence& s = sequences_.at(e.sequence);
      double& served = served_[key(s)];
      if (e.admits) {
        const bool was_queued = s.state == State::kQueued;
        s.state = State::kRunning;
        s.owes = true;
        if (was_queued) note_unqueued(s);
      }
      const std::uint32_t prompt = std::min(e.first_position + e.token_count, s.facts.prompt_tokens);
      if (prompt > s.billed) served += options_.fair.prompt * (prompt - s.billed) / weight(s);
      s.billed = std::max(s.billed, prompt);
      if (e.samples) served += options_.fair.output / weight(s);
    }
  }

 private:
  enum class State : std::uint8_t { kHeld, kQueued, kResuming, kRunning };
  struct Sequence {
    SequenceFacts facts;
    std::uint64_t order = 0;
    State state = State::kHeld;
    std::uint32_t billed = 0;
    bool owes = false;
  };
  using TenantKey = std::pair<Tier, TenantId>;
  struct Step {
    Decision& decision;
    std::uint32_t seats = 0;
    bool batch_closed = false;
    std::map<TenantKey, double> taken = {};
  };

  static TenantKey key(const Sequence& s) { return {s.facts.tier, s.facts.tenant}; }
  ClassLimits limits(const Sequence& s) const {
    return limits_of(options_.classes, s.facts.service_class, s.facts.tier);
  }
  double weight(const Sequence& s) const { return s.facts.weight * limits(s).weight; }

  template <typename Rule>
  std::uint32_t count(Rule rule) const {
    return static_cast<std::uint32_t>(
        std::count_if(sequences_.begin(), sequences_.end(), [&](const auto& entry) { return rule(entry.second); }));
  }

  double level(const TenantKey& tenant) {
    double owed = 0;
    for (const auto& [id, s] : sequences_) {
      if (key(s) == tenant && s.owes) owed += options_.fair.prompt * (s.facts.prompt_tokens - s.billed) / weight(s);
    }
    return served_[tenant] + owed;
  }
  bool has_queued(const TenantKey& tenant) const {
    return count([&](const Sequence& s) { return key(s) == tenant && s.state == State::kQueued; }) > 0;
  }
  void note_unqueued(const Sequence& s) {
    if (!has_queued(key(s))) last_[s.facts.tier] = key(s);
  }

  std::vector<Sequence*> by_order() {
    std::vector<Sequence*> all;
    for (auto& [id, s] : sequences_) all.push_back(&s);
    std::sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->order < b->order; });
    return all;
  }

  void open_queue() {
    for (Sequence* s : by_order()) {
      if (s->state != State::kHeld) continue;
      if (!has_queued(key(*s))) lift(*s);
      s->state = State::kQueued;
    }
  }
  void lift(const Sequence& s) {
    double lowest = std::numeric_limits<double>::infinity();
    double lowest_of_class = lowest;
    for (const auto& [id, other] : sequences_) {
      if (other.facts.tier != s.facts.tier || other.state != State::kQueued) continue;
      lowest = std::min(lowest, level(key(other)));
      if (other.facts.service_class == s.facts.service_class)
        lowest_of_class = std::min(lowest_of_class, level(key(other)));
    }
    if (!std::isinf(lowest_of_class)) lowest = lowest_of_class;
    const double owed = level(key(s)) - served_[key(s)];
    const auto last = last_.find(s.facts.tier);
    if (options_.order != OrderRule::kFair || std::isinf(lowest))
      lowest = last == last_.end() ? 0.0 : level(last->second);
    served_[key(s)] = std::max(served_[key(s)], lowest - owed);
  }

  // Seats of the class after what was decided so far.
  std::uint32_t seats_of(ClassIndex service_class, const Step& step) const {
    return count([&](const Sequence& s) {
      if (s.facts.service_class != service_class) return false;
      if (step.decision.enters.contains(s.facts.id)) return true;
      return s.state == State::kRunning && !step.decision.put_out.contains(s.facts.id);
    });
  }
  std::uint32_t waiting_of(ClassIndex service_class, const Step& step) const {
    return count([&](const Sequence& s) {
      return s.facts.service_class == service_class && (s.state == State::kQueued || s.state == State::kResuming) &&
             !step.decision.enters.contains(s.facts.id);
    });
  }
  std::uint32_t missing_seats(ClassIndex service_class, const Step& step) const {
    const std::uint32_t reserved = limits_of(options_.classes, service_class, Tier::kRealtime).reserved.seats;
    const std::uint32_t seats = seats_of(service_class, step);
    return std::min(reserved - std::min(reserved, seats), waiting_of(service_class, step));
  }

  // The newest of the lowest tier that may lose its seat to `taker`.
  const Sequence* seat_victim(const Sequence& taker, bool own_tier, const Step& step) const {
    const Sequence* lowest = nullptr;
    for (const auto& [id, s] : sequences_) {
      if (s.state != State::kRunning || step.decision.put_out.contains(id)) continue;
      // Rows of realtime sequences are in the step before anybody is admitted.
      if (!own_tier && s.facts.tier == Tier::kRealtime) continue;
      const bool below = s.facts.tier > taker.facts.tier || (own_tier && s.facts.tier == taker.facts.tier);
      const std::uint32_t reserved = limits(s).reserved.seats;
      if (!below || (reserved > 0 && seats_of(s.facts.service_class, step) <= reserved)) continue;
      if (own_tier && s.facts.service_class == taker.facts.service_class) continue;
      const auto rank = [](const Sequence& x) { return std::tuple(x.facts.tier, x.order); };
      if (lowest == nullptr || rank(s) > rank(*lowest)) lowest = &s;
    }
    return lowest;
  }
  bool put_out(const Sequence& taker, bool own_tier, Step& step) {
    const Sequence* victim = seat_victim(taker, own_tier, step);
    if (victim == nullptr) return false;
    step.decision.put_out.insert(victim->facts.id);
    if (victim->facts.tier > taker.facts.tier) step.batch_closed = true;
    ++step.seats;
    return true;
  }

  void take_back(Tier tier, Step& step) {
    for (;;) {
      std::uint32_t missing = 0;
      const Sequence* waits = nullptr;
      for (std::size_t i = 0; i < options_.classes.size(); ++i) {
        const ClassIndex index(static_cast<std::uint32_t>(i));
        if (options_.classes[i].limits.tier != tier || missing_seats(index, step) == 0) continue;
        missing += missing_seats(index, step);
        if (waits != nullptr) continue;
        for (const auto& [id, s] : sequences_) {
          if (s.facts.service_class == index && s.state != State::kRunning) waits = &s;
        }
      }
      if (waits == nullptr || missing <= step.seats || !put_out(*waits, true, step)) return;
    }
  }

  enum class Obstacle : std::uint8_t { kNone, kCeiling, kSeat, kTier };
  // Looks that count: at those who found a seat.
  Obstacle obstacle(const Sequence& s, std::uint32_t& looked_at, Step& step) {
    if (s.facts.tier == Tier::kBatch && step.batch_closed) return Obstacle::kTier;
    const ClassLimits own = limits(s);
    const std::uint32_t seats = seats_of(s.facts.service_class, step);
    if (seats >= own.ceiling.seats) return Obstacle::kCeiling;
    std::uint32_t of_others = 0;
    for (std::size_t i = 0; i < options_.classes.size(); ++i) {
      const ClassIndex index(static_cast<std::uint32_t>(i));
      if (index != s.facts.service_class) of_others += missing_seats(index, step);
    }
    const bool is_entitled = step.seats > 0 && seats < own.reserved.seats;
    const bool finds_seat = is_entitled || step.seats > of_others;
    if (!finds_seat && seat_victim(s, false, step) == nullptr)
      return step.seats > 0 ? Obstacle::kCeiling : Obstacle::kSeat;
    if (looked_at == options_.lookahead) return Obstacle::kTier;
    ++looked_at;
    if (!finds_seat) put_out(s, false, step);
    return Obstacle::kNone;
  }

  void enter(const Sequence& s, Step& step) {
    step.decision.enters.insert(s.facts.id);
    --step.seats;
    step.taken[key(s)] += options_.fair.prompt * s.facts.prompt_tokens / weight(s);
  }

  void let_in(Tier tier, Step& step) {
    std::set<ClassIndex> closed;
    Obstacle first = Obstacle::kNone;
    std::uint32_t looked_at = 0;
    for (Sequence* s : by_order()) {
      if (s->facts.tier != tier || s->state != State::kResuming) continue;
      const Obstacle found = obstacle(*s, looked_at, step);
      if (found == Obstacle::kNone) enter(*s, step);
      if (first == Obstacle::kNone) first = found;
      if (found == Obstacle::kCeiling) closed.insert(s->facts.service_class);
      if (found == Obstacle::kTier) break;
    }
    if (first != Obstacle::kTier) let_in_queued(tier, closed, first == Obstacle::kSeat, step);
  }

  void let_in_queued(Tier tier, std::set<ClassIndex> closed, bool only_entitled, Step& step) {
    step.taken.clear();
    std::uint32_t looked_at = 0;
    while (const Sequence* s = first_by_turn(tier, closed, step)) {
      const bool is_entitled = seats_of(s->facts.service_class, step) < limits(*s).reserved.seats;
      if (only_entitled && !is_entitled) {
        closed.insert(s->facts.service_class);
        continue;
      }
      const Obstacle found = obstacle(*s, looked_at, step);
      if (found == Obstacle::kTier) return;
      if (found == Obstacle::kNone) {
        enter(*s, step);
      } else {
        closed.insert(s->facts.service_class);
      }
    }
  }

  const Sequence* first_by_turn(Tier tier, const std::set<ClassIndex>& closed, const Step& step) {
    const Sequence* first = nullptr;
    std::tuple<double, std::uint64_t> best;
    for (const auto& [id, s] : sequences_) {
      if (s.facts.tier != tier || s.state != State::kQueued || step.decision.enters.contains(id)) continue;
      if (closed.contains(s.facts.service_class)) continue;
      double turn = 0;
      if (options_.order == OrderRule::kDeadline) turn = to_seconds(s.facts.deadline.time_since_epoch());
      if (options_.order == OrderRule::kFair) {
        const auto taken = step.taken.find(key(s));
        turn = level(key(s)) + (taken == step.taken.end() ? 0.0 : taken->second);
      }
      if (first == nullptr || std::tuple(turn, s.order) < best) {
        first = &s;
        best = {turn, s.order};
      }
    }
    return first;
  }

  SchedulerOptions options_;
  std::map<SequenceId, Sequence> sequences_;
  std::map<TenantKey, double> served_;
  std::map<Tier, TenantKey> last_;  // who was the last to have none waiting
  std::uint64_t arrivals_ = 0;
};

}  // namespace takt::testing
