#include "sched/scheduler.h"

#include <algorithm>
#include <utility>

#include "sched/join_gate.h"
#include "sched/queue_waits.h"

namespace takt {

namespace {

// A promoted sibling may lead others; how many matters to nobody.
constexpr std::uint32_t kAnySiblings = 1;

bool is_unserved(const TierQueues& queues) {
  return !queues.unstarted.empty() || !queues.resuming.empty() || !queues.siblings.empty();
}

}  // namespace

SequenceList& Scheduler::list_of(const ScheduledSequence& s) {
  TierQueues& queues = places_.of(s.facts.tier);
  switch (s.state) {
    case SequenceState::kUnstarted:
      return queues.unstarted;
    case SequenceState::kSibling:
      return queues.siblings;
    case SequenceState::kResuming:
      return queues.resuming;
    case SequenceState::kRunning:
      break;
  }
  return places_.running;
}

const WaitAccount* Scheduler::account_of(const ScheduledSequence& s) const {
  const TierQueues& queues = places_.of(s.facts.tier);
  switch (s.state) {
    case SequenceState::kUnstarted:
      return s.flow != nullptr ? &s.flow->lane->waits : &queues.held_waits;
    case SequenceState::kSibling:
      return &queues.sibling_waits;
    case SequenceState::kResuming:
      return &queues.resuming_waits;
    case SequenceState::kRunning:
      break;
  }
  return nullptr;
}

WaitAccount* Scheduler::account_of(const ScheduledSequence& s) {
  return const_cast<WaitAccount*>(std::as_const(*this).account_of(s));
}

void Scheduler::add(const SequenceFacts& facts, TimePoint now) {
  TierQueues& queues = places_.of(facts.tier);
  // What may find no memory first, and in a list of its own: then there is nothing to take back.
  SequenceList added(places_.memory);
  ScheduledSequence& s = added.emplace_back();
  s.facts = facts;
  s.order = ++arrivals_;
  s.queued_at = now;
  s.known = facts.prompt_tokens;
  s.state = facts.leader ? SequenceState::kSibling : SequenceState::kUnstarted;
  s.lane = lane_of(facts.service_class);
  s.weight = facts.weight * limits_of(options_.classes, facts.service_class, facts.tier).weight;
  // A choice after the first may never wait in it, and is counted by it all the same.
  queues.starting.lane_at(s.lane);
  by_id_[facts.id] = added.begin();
  try {
    if (!facts.leader && facts.expires_at != TimePoint::max()) expiries_.insert({facts.expires_at, facts.id});
    s.tenant = &queues.ledger.enter(facts.tenant);
  } catch (...) {
    forget_expiry(s);
    by_id_.erase(facts.id);
    throw;
  }
  SequenceList& list = list_of(s);
  WaitAccount& account = *account_of(s);
  if (s.state == SequenceState::kSibling && list.empty()) account.set(WaitReason::kSibling, now);
  s.joined = account.at(now);
  list.splice(list.end(), added);
}

void Scheduler::forget_expiry(const ScheduledSequence& s) {
  expiries_.erase({s.facts.expires_at, s.facts.id});
}

void Scheduler::remove(SequenceId sequence, TimePoint now) {
  const auto it = by_id_.find(sequence);
  if (it == by_id_.end()) return;
  const SequenceList::iterator s = it->second;
  TierQueues& queues = places_.of(s->facts.tier);
  if (s->state == SequenceState::kUnstarted) {
    forget_expiry(*s);
    leave_unstarted(queues, s, false);
  }
  queues.ledger.leave(*s);
  queues.starting.moved(*s->tenant);
  const bool has_siblings = s->facts.siblings > 0;
  by_id_.erase(it);
  SequenceList& list = list_of(*s);
  list.erase(s);
  if (has_siblings) promote_sibling(sequence, now);
}

void Scheduler::promote_sibling(SequenceId leader, TimePoint now) noexcept {
  std::optional<SequenceId> promoted;
  for (TierQueues& queues : places_.tiers) {
    for (auto s = queues.siblings.begin(); s != queues.siblings.end();) {
      const auto current = s++;
      if (current->facts.leader != leader) continue;
      if (promoted) {
        current->facts.leader = promoted;
      } else {
        promoted = current->facts.id;
        current->facts.siblings = kAnySiblings;
        current->facts.leader.reset();
        move(current, SequenceState::kResuming, now);
      }
    }
  }
}

void Scheduler::reconfigure(const SchedulerOptions& options, TimePoint now) {
  transition_ = Transition{options, arrivals_};
  // A closed batch has had those that are there, however they came.
  std::size_t started = places_.running.size();
  for (const TierQueues& queues : places_.tiers) started += queues.resuming.size() + queues.siblings.size();
  history_.batch_members = static_cast<std::uint32_t>(started);
  // A rule that was already in force needs no transition, and one that is still in transition goes on.
  const bool frees_blocks = options_.preemption != PreemptionRule::kNone;
  const PreemptionRule before = options_.preemption;
  options_ = options;
  if (frees_blocks && options.preemption == PreemptionRule::kNone) options_.preemption = before;
  breaker_.set_options(options.breaker);
  for (TierQueues& queues : places_.tiers) {
    queues.ledger.set_weights(options.fair);
    change_order(queues, options.order, now);
  }
  settle();
}

void Scheduler::set_reserve(SequenceId sequence, std::uint32_t tokens) {
  const auto it = by_id_.find(sequence);
  if (it != by_id_.end()) it->second->facts.reserve_tokens = tokens;
}

// Brings the rules as far to what is wanted as those who run allow.
void Scheduler::settle() {
  if (!transition_) return;
  const SchedulerOptions& wanted = transition_->wanted;
  const auto running = static_cast<std::uint32_t>(places_.running.size());
  options_.max_step_tokens = std::max(wanted.max_step_tokens, running + 1);
  const auto is_old = [&](const ScheduledSequence& s) {
    return s.order <= transition_->last_of_old && s.state != SequenceState::kUnstarted;
  };
  bool old_ones = std::any_of(places_.running.begin(), places_.running.end(), is_old);
  for (const TierQueues& queues : places_.tiers) {
    // In order of arrival.
    for (const SequenceList* list : {&queues.resuming, &queues.siblings})
      old_ones = old_ones || (!list->empty() && is_old(list->front()));
  }
  if (!old_ones) options_.preemption = wanted.preemption;
  if (options_.max_step_tokens == wanted.max_step_tokens && options_.preemption == wanted.preemption)
    transition_.reset();
}

std::vector<SequenceId> Scheduler::expired(TimePoint now) const {
  std::vector<SequenceId> ids;
  for (const auto& [at, id] : expiries_) {
    if (at > now) break;
    ids.push_back(id);
  }
  return ids;
}

std::optional<TimePoint> Scheduler::next_expiry() const {
  if (expiries_.empty()) return std::nullopt;
  return expiries_.begin()->first;
}

std::size_t Scheduler::running_of(Tier tier) const {
  return static_cast<std::size_t>(std::count_if(places_.running.begin(), places_.running.end(),
                                                [&](const ScheduledSequence& s) { return s.facts.tier == tier; }));
}

std::span<const SequenceId> Scheduler::queue_heads(TimePoint now) {
  open_gates(now);
  return heads_.name(options_, places_, scratch_.walk);
}

std::span<const SequenceId> Scheduler::holders(const CapacityView& view) {
  std::vector<SequenceId>& ids = holders_;
  ids.clear();
  // At worst every running sequence needs one block more of every group in the next step.
  GroupCounts growth;
  for (std::size_t g = 0; g < kMaxKvGroups; ++g) {
    if (view.total.blocks[g] > 0) growth.blocks[g] = static_cast<std::uint32_t>(places_.running.size());
  }
  const auto add = [&](const SequenceList& list) {
    for (const ScheduledSequence& s : list) {
      if (s.cover > 0) ids.push_back(s.facts.id);
    }
  };
  for (const TierQueues& queues : places_.tiers) add(queues.resuming);
  const TierQueues& realtime = places_.of(Tier::kRealtime);
  const bool realtime_waits = !realtime.unstarted.empty() || !realtime.resuming.empty();
  const bool may_take_from_batch = realtime_waits && running_of(Tier::kBatch) > 0;
  if (ids.empty() && !may_take_from_batch && !reserve_is_asked_for() && growth.within(view.free + view.evictable))
    return ids;
  add(places_.running);
  return ids;
}

// Somebody waits whose class has blocks of its own, which others may have borrowed.
bool Scheduler::reserve_is_asked_for() const {
  for (std::size_t i = 0; i < options_.classes.size(); ++i) {
    const ClassLimits& limits = options_.classes[i].limits;
    if (limits.reserved.blocks <= 0.0) continue;
    const std::size_t lane = lane_of(ClassIndex(static_cast<std::uint32_t>(i)));
    const TierQueues& queues = places_.of(limits.tier);
    const auto& lanes = queues.starting.lanes();
    if (lane < lanes.size() && !lanes[lane].arrivals.empty()) return true;
    if (std::any_of(queues.resuming.begin(), queues.resuming.end(),
                    [&](const ScheduledSequence& s) { return s.lane == lane; }))
      return true;
  }
  return false;
}

void Scheduler::open_gates(TimePoint now) {
  settle();
  if (takt::open_gates(options_, places_, now)) history_.batch_members = 0;
  for (TierQueues& queues : places_.tiers) follow_gate(queues, now);
}

StepPlan Scheduler::plan(TimePoint now, const CapacityView& view, const StepTimeModel& model) {
  StepPlan made;
  plan(now, view, model, made);
  return made;
}

void Scheduler::plan(TimePoint now, const CapacityView& view, const StepTimeModel& model, StepPlan& plan) {
  open_gates(now);
  for (const Tier tier : kTiers) history_.most_running[index_of(tier)] = breaker_.most_running(tier, now);
  PlanBuilder builder({options_, view, model, places_, history_}, scratch_, plan);
  builder.build(StepId(++plans_), model_);
  plan.pressure = breaker_.pressure(now);
  batch_step_ = builder.batch_step();
  planned_at_ = now;
  prefill_left_out_ = builder.prefill_was_left_out();
  unserviceable_.reset();
  if (const ScheduledSequence* stuck = builder.unserviceable()) unserviceable_ = stuck->facts.id;
  if (options_.join == JoinRule::kWhenEmpty) close_batch(plan, builder.entrance());
  name_waits(builder.entrance(), plan, now);
  note_passed_over(plan, now);
}

// Who found no seat or blocks while the batch formed has missed it.
void Scheduler::close_batch(const StepPlan& plan, const Entrance& entrance) {
  for (const Tier tier : kTiers) {
    TierQueues& queues = places_.of(tier);
    bool missed = false;
    for (const ServiceLane& lane : queues.starting.lanes()) {
      const WaitReason reason = entrance.unstarted_reason(tier, lane.index);
      missed = missed || reason == WaitReason::kSeat || reason == WaitReason::kBlocks;
    }
    if (!missed) continue;
    std::uint64_t last_admitted = 0;
    for (const PlanEntry& entry : plan.entries) {
      const ScheduledSequence& s = *by_id_.find(entry.sequence)->second;
      if (s.facts.tier == tier && entry.admits) last_admitted = std::max(last_admitted, s.order);
    }
    if (last_admitted > 0 || !places_.running.empty()) close_gate(queues, last_admitted);
  }
}

void Scheduler::name_waits(const Entrance& entrance, StepPlan& plan, TimePoint now) {
  QueueAdmissions admissions(places_.memory);
  for (const PlanEntry& entry : plan.entries) {
    if (entry.admits) admissions.add(*by_id_.find(entry.sequence)->second);
  }
  const bool batch_is_closed = options_.join == JoinRule::kWhenEmpty && !places_.running.empty();
  takt::name_waits(places_, entrance, admissions, {batch_is_closed, now}, plan);
}

void Scheduler::note_passed_over(const StepPlan& plan, TimePoint now) {
  for (ScheduledSequence& s : places_.running) {
    if (s.passed_over_since) s.waited[static_cast<std::size_t>(WaitReason::kStepTime)] += now - *s.passed_over_since;
    s.passed_over_since = now;
  }
  for (const PlanEntry& entry : plan.entries) by_id_.find(entry.sequence)->second->passed_over_since.reset();
}

void Scheduler::move(SequenceList::iterator s, SequenceState to, TimePoint now) noexcept {
  if (const WaitAccount* left = account_of(*s)) add_difference(s->waited, left->at(now), s->joined);
  SequenceList& from = list_of(*s);
  if (s->state == SequenceState::kUnstarted) {
    forget_expiry(*s);
    leave_unstarted(places_.of(s->facts.tier), s, to == SequenceState::kRunning);
  }
  s->state = to;
  SequenceList& list = list_of(*s);
  auto place = list.end();
  // Queues keep the order of arrival; who comes back is old, so the place is near the front.
  if (to == SequenceState::kResuming) {
    place =
        std::find_if(list.begin(), list.end(), [&](const ScheduledSequence& other) { return other.order > s->order; });
  }
  list.splice(place, from, s);
  if (const WaitAccount* joined = account_of(*s)) s->joined = joined->at(now);
}

void Scheduler::apply_drops(const StepPlan& plan, TimePoint now) noexcept {
  for (const PlanDrop& drop : plan.drops) {
    const auto it = by_id_.find(drop.sequence);
    if (it == by_id_.end()) continue;
    ScheduledSequence& s = *it->second;
    if (s.state == SequenceState::kRunning && drop.keep_tokens < s.computed)
      breaker_.note_preemption({static_cast<std::uint32_t>(running_of(Tier::kRealtime)),
                                static_cast<std::uint32_t>(running_of(Tier::kBatch))},
                               now);
    if (drop.keep_tokens < s.computed)
      s.swapped_until = drop.kind == PreemptionKind::kSwap ? std::max(s.swapped_until, s.computed) : 0;
    s.cover = std::min(s.cover, drop.keep_tokens);
    s.computed = std::min(s.computed, drop.keep_tokens);
    if (s.state != SequenceState::kRunning) continue;
    ++s.preemptions;
    if (drop.in_favour_of == s.facts.tier) ++s.preemptions_by_own_tier;
    s.reserved_to_the_end = false;
    s.passed_over_since.reset();
    places_.of(s.facts.tier).resuming_waits.set(WaitReason::kPreemption, now);
    move(it->second, SequenceState::kResuming, now);
  }
}

void Scheduler::apply_swap_ins(const StepPlan& plan) noexcept {
  for (const PlanSwapIn& swap_in : plan.swap_ins) {
    const auto it = by_id_.find(swap_in.sequence);
    if (it == by_id_.end()) continue;
    ScheduledSequence& s = *it->second;
    s.cover = std::max(s.cover, swap_in.cover_tokens);
    s.computed = std::max(s.computed, swap_in.computed);
    if (!s.is_swapped()) s.swapped_until = 0;
  }
}

std::uint32_t Scheduler::lose_swapped(SequenceId sequence, std::uint32_t computed) noexcept {
  const auto it = by_id_.find(sequence);
  if (it == by_id_.end()) return 0;
  ScheduledSequence& s = *it->second;
  s.computed = computed;
  const std::uint32_t until = std::exchange(s.swapped_until, 0);
  return until - std::min(until, computed);
}

void Scheduler::start(SequenceList::iterator s, const PlanEntry& entry, TimePoint now) noexcept {
  TierQueues& queues = places_.of(s->facts.tier);
  const bool is_unstarted = s->state == SequenceState::kUnstarted;
  // A choice after the first comes as one that resumes.
  if (is_unstarted || s->preemptions == 0) ++history_.batch_members;
  s->reserved_to_the_end = s->preemptions_by_own_tier >= options_.protect_after;
  queues.ledger.admitted(*s, entry.first_position);
  // Its queue's reason is that of those who stay; it waited for the step itself.
  move(s, SequenceState::kRunning, planned_at_);
  s->waited[static_cast<std::size_t>(WaitReason::kStepTime)] += now - planned_at_;
}

void Scheduler::commit(const StepPlan& plan, std::span<const SequenceProgress> progress, TimePoint now) noexcept {
  std::size_t at = 0;
  for (const PlanEntry& entry : plan.entries) {
    // Both are in the order of the step; progress may leave some out.
    if (at == progress.size() || progress[at].sequence != entry.sequence) continue;
    const SequenceProgress& step = progress[at++];
    const auto it = by_id_.find(entry.sequence);
    if (it == by_id_.end()) continue;
    ScheduledSequence& s = *it->second;
    TierQueues& queues = places_.of(s.facts.tier);
    if (entry.admits) start(it->second, entry, now);
    const bool prompt_done = s.computed < s.facts.prompt_tokens && step.computed >= s.facts.prompt_tokens;
    queues.ledger.progressed(s, step.known, step.computed);
    if (s.tenant->flows != nullptr) queues.starting.moved(*s.tenant);
    s.known = step.known;
    s.computed = step.computed;
    s.cover = std::max(s.cover, entry.cover_tokens);
    if (s.facts.siblings > 0 && prompt_done) release_siblings(entry.sequence, now);
  }
  batch_step_.time = plan.entries.empty() ? Duration::zero() : plan.predicted;
  history_.minimum_share.note(batch_step_);
  history_.decode_only_steps = prefill_left_out_ ? history_.decode_only_steps + 1 : 0;
}

void Scheduler::release_siblings(SequenceId leader, TimePoint now) noexcept {
  for (TierQueues& queues : places_.tiers) {
    for (auto s = queues.siblings.begin(); s != queues.siblings.end();) {
      const auto current = s++;
      if (current->facts.leader == leader) move(current, SequenceState::kResuming, now);
    }
  }
}

SchedulerCounts Scheduler::counts() const {
  const auto running = static_cast<std::uint32_t>(places_.running.size());
  return {running, static_cast<std::uint32_t>(by_id_.size()) - running};
}

WaitReason Scheduler::oldest_wait_reason() const {
  for (const TierQueues& queues : places_.tiers) {
    if (!is_unserved(queues)) continue;
    if (queues.resuming_waits.reason() != WaitReason::kNone) return queues.resuming_waits.reason();
    for (const ServiceLane& lane : queues.starting.lanes()) {
      if (lane.waits.reason() != WaitReason::kNone) return lane.waits.reason();
    }
    for (const WaitAccount* account : {&queues.held_waits, &queues.sibling_waits}) {
      if (account->reason() != WaitReason::kNone) return account->reason();
    }
  }
  return WaitReason::kNone;
}

WaitTimes Scheduler::waited(SequenceId sequence, TimePoint now) const {
  const auto it = by_id_.find(sequence);
  if (it == by_id_.end()) return {};
  const ScheduledSequence& s = *it->second;
  WaitTimes waited = s.waited;
  if (const WaitAccount* account = account_of(s)) add_difference(waited, account->at(now), s.joined);
  if (s.passed_over_since) waited[static_cast<std::size_t>(WaitReason::kStepTime)] += now - *s.passed_over_since;
  return waited;
}

void Scheduler::note_length(SequenceId sequence) {
  const auto it = by_id_.find(sequence);
  if (it == by_id_.end()) return;
  const ScheduledSequence& s = *it->second;
  history_.lengths.observe(s.known - std::min(s.known, s.facts.prompt_tokens));
}

std::uint64_t Scheduler::unused_cover() const {
  std::uint64_t unused = 0;
  for (const ScheduledSequence& s : places_.running) unused += s.cover - std::min(s.cover, s.known);
  return unused;
}

std::uint32_t Scheduler::unused_blocks(std::uint32_t block_tokens) const {
  const auto blocks_for = [&](std::uint32_t tokens) { return (tokens + block_tokens - 1) / block_tokens; };
  std::uint32_t unused = 0;
  for (const ScheduledSequence& s : places_.running)
    unused += blocks_for(s.cover) - blocks_for(std::min(s.cover, s.known));
  return unused;
}

std::uint32_t Scheduler::preemptions(SequenceId sequence) const {
  const auto it = by_id_.find(sequence);
  return it == by_id_.end() ? 0 : it->second->preemptions;
}

std::uint32_t Scheduler::computed(SequenceId sequence) const {
  const auto it = by_id_.find(sequence);
  return it == by_id_.end() ? 0 : it->second->computed;
}

std::vector<SequenceView> Scheduler::look(std::size_t heads) const {
  std::vector<SequenceView> views;
  look(heads, views);
  return views;
}

void Scheduler::look(std::size_t heads, std::vector<SequenceView>& views) const {
  views.clear();
  const auto add = [&](const SequenceList& list, std::size_t most) {
    for (auto s = list.begin(); s != list.end() && most > 0; ++s, --most) {
      const WaitAccount* account = account_of(*s);
      WaitReason reason = account != nullptr ? account->reason() : WaitReason::kNone;
      if (s->passed_over_since) reason = WaitReason::kStepTime;
      views.push_back({s->facts.id, s->state, s->known, s->computed, s->cover, s->swapped_until, reason});
    }
  };
  add(places_.running, places_.running.size());
  for (const TierQueues& queues : places_.tiers) {
    for (const SequenceList* list : {&queues.resuming, &queues.unstarted, &queues.siblings}) add(*list, heads);
  }
}

}  // namespace takt
