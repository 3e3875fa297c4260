#include "engine/step_loop.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "base/log.h"
#include "engine/invariants.h"

namespace takt {

namespace {

// A plan may only drop (waiting work gives up shared blocks); planning again then finds more room. Ends because every
// pass holds less.
constexpr int kPlanPasses = 4;
// A plan can count a block twice: in the tail of a victim, and in the cached prefix of a newcomer that shares it. Its
// drops have happened when that shows, so the next plan has the true numbers.
constexpr int kPlansPerStep = 3;
// While nothing else is to do.
constexpr Duration kLookAtTransfers = std::chrono::milliseconds(20);

Error shut_down() {
  return {ErrorCode::kUnavailable, "The server shut down.", "draining"};
}

}  // namespace

StepLoop::StepLoop(StepLoopParts parts, const EngineOptions& options, const SchedulerOptions& effective)
    : parts_(std::move(parts)),
      model_(options.model),
      step_retries_(options.step_retries),
      scheduler_(effective, options.model),
      events_(parts_.sinks, effective.leave == LeaveRule::kWithBatch),
      swap_(std::move(parts_.swap), parts_.executor, parts_.kv, parts_.clock),
      lifecycle_({parts_.executor, parts_.kv, scheduler_, parts_.door, events_, swap_, parts_.tape}),
      moves_({parts_.kv, scheduler_, lifecycle_, events_, swap_, parts_.tape}),
      status_({parts_.board, scheduler_, parts_.kv, lifecycle_.store(), parts_.step_time, swap_,
               parts_.executor.capabilities().groups[0].block_tokens}),
      binding_(parts_.executor.capabilities().groups.size()) {
  if (parts_.tape != nullptr) {
    CapacityView memory = parts_.kv.capacity();
    swap_.fill(memory.swap);
    parts_.tape->started(effective, memory, parts_.clock.now());
  }
  status_.write(tally_, fatal_, parts_.clock.now(), false);
}

StepOutcome StepLoop::turn(std::vector<Command>& commands) noexcept {
  StepOutcome outcome = StepOutcome::kNoWork;
  const TimePoint now = parts_.clock.now();
  parts_.kv.tick(now);
  try {
    swap_.take_copying_time();  // of a turn that did not come to its step
    moves_.follow(now);
    apply_all(commands, now);
    if (stopped_) lifecycle_.end_all(shut_down(), now);
    if (drain_deadline_ && now >= *drain_deadline_) lifecycle_.end_all(shut_down(), now);
    lifecycle_.expire(now);
    if (fatal_) {
      const bool had_work = !lifecycle_.store().empty();
      lifecycle_.end_all({ErrorCode::kUnavailable, *fatal_, "model_unavailable"}, now);
      outcome = had_work ? StepOutcome::kFatal : StepOutcome::kNoWork;
    } else if (!lifecycle_.store().empty()) {
      clear_plan(plan_);
      outcome = run_step(now);
    }
  } catch (const std::exception& e) {
    outcome = step_broke(Error::internal(std::string("A step failed: ") + e.what()), now);
  } catch (...) {
    outcome = step_broke(Error::internal("A step failed for an unknown reason."), now);
  }
  parts_.board.note_executing(false);
  if (outcome == StepOutcome::kNoWork && !commands.empty()) outcome = StepOutcome::kDeferred;
  if (outcome == StepOutcome::kDeferred || outcome == StepOutcome::kRetryable) note_idle(now);
  if (lifecycle_.store().empty()) idle_since_.reset();
  const bool another_follows = outcome != StepOutcome::kNoWork && outcome != StepOutcome::kFatal;
  status_.write(tally_, fatal_, parts_.clock.now(), another_follows);
#ifdef TAKT_CHECK_INVARIANTS
  check_invariants(now);
#endif
  if (scheduler_.counts().running == 0) events_.release(parts_.clock.now());
  events_.publish();
  return outcome;
}

void StepLoop::apply_all(std::vector<Command>& commands, TimePoint now) noexcept {
  auto command = commands.begin();
  while (command != commands.end() && apply_or_refuse(*command, now)) ++command;
  commands.erase(commands.begin(), command);
}

// False: nothing came of it, and it is to be tried again before all that came later.
bool StepLoop::apply_or_refuse(Command& command, TimePoint now) noexcept {
  bool helps_to_wait = false;
  try {
    apply(command, now);
    return true;
  } catch (const std::bad_alloc&) {
    helps_to_wait = true;
    spdlog::error("there is no memory for a command");
  } catch (const std::exception& e) {
    spdlog::error("a command failed: {}", e.what());
  }
  auto* submit = std::get_if<SubmitCommand>(&command);
  if (submit == nullptr) return !helps_to_wait;
  try {
    lifecycle_.refuse(*submit, out_of_memory(), now);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

void StepLoop::apply(Command& command, TimePoint now) {
  if (auto* submit = std::get_if<SubmitCommand>(&command)) {
    lifecycle_.accept(*submit, now);
  } else if (const auto* cancel = std::get_if<CancelCommand>(&command)) {
    lifecycle_.cancel(cancel->request, cancel->cause, now);
  } else if (const auto* finish = std::get_if<FinishChoiceCommand>(&command)) {
    lifecycle_.finish_choice(finish->request, finish->choice, now);
  } else if (const auto* drain = std::get_if<DrainCommand>(&command)) {
    drain_deadline_ = drain_deadline_ ? std::min(*drain_deadline_, drain->deadline) : drain->deadline;
  } else if (const auto* change = std::get_if<ReconfigureCommand>(&command)) {
    reconfigure(*change->options, now);
  } else {
    stopped_ = true;
  }
}

void StepLoop::reconfigure(const EngineOptions& options, TimePoint now) {
  step_retries_ = options.step_retries;
  scheduler_.reconfigure(options.sched, now);
  if (parts_.tape != nullptr) parts_.tape->reconfigured(options.sched, now);
  parts_.kv.set_options(options.kv);
  lifecycle_.reserve_anew(now);
  events_.leave_with_batch(options.sched.leave == LeaveRule::kWithBatch, now);
}

std::optional<TimePoint> StepLoop::next_deadline() const {
  std::optional<TimePoint> next = scheduler_.next_expiry();
  if (drain_deadline_ && !lifecycle_.store().empty())
    next = next ? std::min(*next, *drain_deadline_) : *drain_deadline_;
  if (swap_.is_busy()) {
    const TimePoint soon = parts_.clock.now() + kLookAtTransfers;
    next = next ? std::min(*next, soon) : soon;
  }
  return next;
}

StepOutcome StepLoop::run_step(TimePoint now) {
  for (int plans_left = kPlansPerStep - 1;; --plans_left) {
    make_plan(now);
    if (plan_.entries.empty()) return nothing_planned(now);
    keep_one_suspect(plan_);
    Result<Reservation> reservation = reserve(plan_);
    if (reservation.ok()) return carry_out(reservation.value(), now);
    if (plans_left == 0) return step_broke(reservation.error(), now);
    spdlog::debug("planned anew with the blocks that the plan's drops left: {}", reservation.error().message);
  }
}

StepOutcome StepLoop::carry_out(Reservation& reservation, TimePoint now) {
  if (!open_sequences(plan_, now)) return StepOutcome::kRetryable;
  end_idle(now);
  Result<StepResult> result = execute(plan_, reservation);
  if (!result.ok()) return step_broke(result.error(), now);
  if (const Status staged = stage(plan_, result.value()); !staged.ok()) return step_broke(staged.error(), now);

  const Duration measured = result.value().measured + swap_.take_copying_time();
  if (plan_is_whole_) parts_.step_time.observe(plan_.features, measured);
  tally_.busy += measured;
  ++tally_.steps;
  failed_plans_ = 0;
  const StepSpan span{now, parts_.clock.now(), measured};
  StepPlan plan = std::exchange(plan_, events_.take_spare_plan());
  clear_plan(plan_);
  commit(plan, reservation, span);
  parts_.executor.take_back(std::move(result.value()));
  parts_.board.note_progress(span.finished);
  note_committed(std::move(plan), span);
  return StepOutcome::kCommitted;
}

void StepLoop::note_committed(StepPlan&& plan, const StepSpan& span) {
  const SchedulerCounts counts = scheduler_.counts();
  const CapacityView view = parts_.kv.capacity();
  StepCommitted committed;
  committed.model = plan.model;
  committed.plan = std::move(plan);
  committed.measured = span.measured;
  committed.running = counts.running;
  committed.waiting = counts.waiting;
  committed.waiting_tokens = parts_.door.waiting_tokens();
  committed.blocks_total = view.total.blocks[0];
  committed.blocks_free = view.free.blocks[0];
  committed.blocks_cached = view.evictable.blocks[0];
  committed.blocks_owned = view.total.blocks[0] - view.free.blocks[0] - view.evictable.blocks[0];
  committed.unused_cover_tokens = scheduler_.unused_cover();
  events_.add(span.finished, std::move(committed));
}

StepOutcome StepLoop::nothing_planned(TimePoint now) {
  const std::optional<SequenceId> stuck = scheduler_.unserviceable();
  SequenceRecord* record = stuck ? lifecycle_.store().find(*stuck) : nullptr;
  if (record == nullptr) return StepOutcome::kDeferred;
  lifecycle_.end_choice(*record, FinishReason::kFailed,
                        {ErrorCode::kResourceExhausted, "The answer does not fit the KV memory of this server.", {}},
                        now);
  return StepOutcome::kUnserviceable;
}

void StepLoop::look_at_memory(TimePoint now) {
  parts_.kv.count_into(view_);
  view_.prefixes.clear();
  view_.tails.clear();
  for (const SequenceId id : scheduler_.queue_heads(now)) {
    const SequenceRecord* s = lifecycle_.store().find(id);
    if (s != nullptr) view_.prefixes.push_back(parts_.kv.cached_prefix(id, s->known));
  }
  for (const SequenceId id : scheduler_.holders(view_)) view_.tails.push_back(parts_.kv.held_tail(id));
  view_.shared.clear();
  for (const std::vector<SequenceId>& members : scheduler_.members_of_limited_classes())
    parts_.kv.count_shared(members, view_.shared);
  swap_.fill(view_.swap);
}

void StepLoop::make_plan(TimePoint now) {
  for (int pass = 0; pass < kPlanPasses; ++pass) {
    look_at_memory(now);
    scheduler_.plan(now, view_, parts_.step_time, plan_);
    if (parts_.tape != nullptr) parts_.tape->planned(view_, plan_, now);
    moves_.apply(plan_, now);
    if (!plan_.entries.empty() || (plan_.drops.empty() && plan_.swap_ins.empty())) break;
  }
  swap_.fetch(plan_.fetches, now);
}

// While a failed step's culprit is looked for, its sequences run one at a time: one request cannot end its batch mates.
void StepLoop::keep_one_suspect(StepPlan& plan) {
  plan_is_whole_ = true;
  if (suspects_.empty()) return;
  const auto suspect = std::find_if(plan.entries.begin(), plan.entries.end(),
                                    [&](const PlanEntry& e) { return suspects_.contains(e.sequence); });
  if (suspect == plan.entries.end()) {
    suspects_.clear();
    return;
  }
  const PlanEntry entry = *suspect;
  plan.entries.assign(1, entry);
  plan.features = {.tokens = entry.token_count,
                   .decode_rows = entry.token_count == 1 ? 1U : 0U,
                   .logits_rows = entry.samples ? 1U : 0U,
                   .attended_positions = attended_by(entry.first_position, entry.token_count)};
  plan_is_whole_ = false;
}

// False when a sequence could not be opened: it is over, and the plan with it.
bool StepLoop::open_sequences(const StepPlan& plan, TimePoint now) {
  for (const PlanEntry& entry : plan.entries) {
    SequenceRecord& s = *lifecycle_.store().find(entry.sequence);
    const Status opened = lifecycle_.open_in_executor(s);
    if (opened.ok()) continue;
    const Error& error = opened.error();
    for (const PlanEntry& other : plan.entries) {
      if (other.admits) lifecycle_.close_in_executor(*lifecycle_.store().find(other.sequence));
    }
    if (error.code == ErrorCode::kUnavailable) {
      end_with_fatal(error.message, now);
    } else {
      lifecycle_.end_choice(s, FinishReason::kFailed, error, now);
    }
    return false;
  }
  return true;
}

Result<Reservation> StepLoop::reserve(const StepPlan& plan) {
  requests_.clear();
  for (const PlanEntry& entry : plan.entries) {
    requests_.push_back(
        {entry.sequence, lifecycle_.store().find(entry.sequence)->known, entry.first_position, entry.cover_tokens});
  }
  return parts_.kv.reserve(requests_);
}

Result<StepResult> StepLoop::execute(const StepPlan& plan, const Reservation& reservation) {
  const BoundStep step = binding_.bind(plan, lifecycle_.store(), reservation);
  tally_.last = plan.id;
  parts_.board.note_executing(true);
  status_.write(tally_, fatal_, parts_.clock.now(), true);
  const Result<StepTicket> ticket = parts_.executor.submit(step);
  if (!ticket.ok()) return ticket.error();
  Result<StepResult> result = parts_.executor.collect(ticket.value());
  parts_.board.note_executing(false);
  return result;
}

// Everything that can fail or allocate happens here, before any owner of state is changed.
Status StepLoop::stage(const StepPlan& plan, StepResult& result) {
  if (result.entries.size() != plan.entries.size())
    return Error::internal("The executor answered other entries than it was given.");
  staged_.clear();
  staged_.resize(plan.entries.size());
  tokens_.reserve(plan.entries.size());
  progress_.reserve(plan.entries.size());
  for (std::size_t i = 0; i < staged_.size(); ++i) {
    const PlanEntry& entry = plan.entries[i];
    EntryResult& answer = result.entries[i];
    if (answer.sequence != entry.sequence)
      return Error::internal("The executor answered other entries than it was given.");
    Staged& s = staged_[i];
    s.sequence = lifecycle_.store().find(entry.sequence);
    s.computed = entry.first_position + entry.token_count;
    s.prompt_logprobs = std::move(answer.prompt_logprobs);
    const bool samples_rightly =
        entry.samples ? answer.outcome != EntryOutcome::kComputed : answer.outcome == EntryOutcome::kComputed;
    if (answer.outcome == EntryOutcome::kFailed) {
      s.commits = false;
      s.finish = FinishReason::kFailed;
      s.error = std::move(answer.error);
    } else if (!samples_rightly) {
      return Error::internal("The executor sampled what it was not asked for, or did not sample what it was.");
    } else if (answer.outcome == EntryOutcome::kSampled) {
      stage_sample(s, answer);
    } else if (answer.outcome == EntryOutcome::kNotSampled) {
      --s.computed;  // the last token is fed again
    } else if (s.computed == s.sequence->request->limit_tokens) {
      s.finish = FinishReason::kLength;  // nothing was to be generated
    }
    std::vector<TokenId>& known = s.sequence->known;
    if (s.token && known.size() == known.capacity()) known.reserve(known.size() + known.size() / 2 + 16);
  }
  events_.reserve(plan.entries.size() * 6 + 1);
  return {};
}

void StepLoop::stage_sample(Staged& s, EntryResult& answer) const {
  const EngineRequest& request = s.sequence->request->request;
  const TokenId token = answer.sampled.token;
  if (token < 0 || static_cast<std::uint32_t>(token) >= parts_.executor.capabilities().vocab_size) {
    s.finish = FinishReason::kFailed;
    s.error = Error::internal("The executor sampled a token that is not in the vocabulary.");
    return;
  }
  const bool may_end = s.sequence->generated() >= request.min_tokens;
  if (may_end && std::find(request.end_tokens.begin(), request.end_tokens.end(), token) != request.end_tokens.end()) {
    s.finish = FinishReason::kStop;
    return;
  }
  s.token = std::move(answer.sampled);
  if (s.sequence->known.size() + 1 >= s.sequence->request->limit_tokens) s.finish = FinishReason::kLength;
}

void StepLoop::commit(const StepPlan& plan, Reservation& reservation, const StepSpan& span) {
  tokens_.clear();
  progress_.clear();
  for (std::size_t i = 0; i < staged_.size(); ++i) {
    Staged& s = staged_[i];
    if (!s.commits) continue;
    if (plan.entries[i].admits) s.waited = scheduler_.waited(s.sequence->id, span.planned);
    tokens_.push_back({s.sequence->id, s.sequence->known, s.computed});
    progress_.push_back(
        {s.sequence->id, static_cast<std::uint32_t>(s.sequence->known.size() + (s.token ? 1 : 0)), s.computed});
  }
  reservation.commit(tokens_);
  scheduler_.commit(plan, progress_, span.finished);
  if (parts_.tape != nullptr) parts_.tape->committed(progress_, span.measured, plan_is_whole_, span.finished);
  for (std::size_t i = 0; i < staged_.size(); ++i) publish_entry(plan.entries[i], staged_[i], span);
}

void StepLoop::publish_entry(const PlanEntry& entry, Staged& staged, const StepSpan& span) {
  const TimePoint now = span.finished;
  SequenceRecord& s = *staged.sequence;
  const RequestId request = s.request->request.id;
  suspects_.erase(s.id);
  s.failed_steps = 0;
  // The wait ended when the step was planned: computing is not waiting.
  if (staged.commits && entry.admits) {
    lifecycle_.admitted(s, entry.first_position, span.planned);
    events_.add(span.planned, Seated{request, s.choice, entry.first_position, staged.waited});
  }
  // Siblings share the prompt that the first choice computes.
  if (staged.commits && s.choice == 0 && entry.first_position < s.request->request.prompt.size())
    ++s.request->prompt_steps;
  if (!staged.prompt_logprobs.empty()) {
    s.scored_rows += static_cast<std::uint32_t>(staged.prompt_logprobs.size());
    events_.add(now, PromptScored{request, std::move(staged.prompt_logprobs)});
  }
  if (staged.token) {
    s.known.push_back(staged.token->token);
    s.last_progress = now;
    events_.add(now, TokenSampled{request, s.choice, s.generated() - 1, std::move(*staged.token)});
  }
  if (staged.finish) lifecycle_.end_choice(s, *staged.finish, std::move(staged.error), now);
}

// The step left no trace but its drops. Its sequences try again, then one by one, and then end with the error.
StepOutcome StepLoop::step_broke(const Error& error, TimePoint now) {
  if (error.code == ErrorCode::kUnavailable) {
    end_with_fatal(error.message, now);
    return StepOutcome::kFatal;
  }
  const StepPlan plan = std::exchange(plan_, {});
  std::vector<SequenceId> alive;
  for (const PlanEntry& entry : plan.entries) {
    SequenceRecord* s = lifecycle_.store().find(entry.sequence);
    if (s == nullptr) continue;
    alive.push_back(entry.sequence);
    ++s->failed_steps;
    if (entry.admits) lifecycle_.close_in_executor(*s);
  }
  bool retryable = true;
  if (plan.entries.empty()) {
    // Planning itself broke: nobody in particular is to blame.
    retryable = ++failed_plans_ <= step_retries_;
    if (!retryable) lifecycle_.end_all(error, now);
  } else if (alive.size() == 1 && lifecycle_.store().find(alive.front())->failed_steps > step_retries_) {
    retryable = false;
    suspects_.erase(alive.front());
    lifecycle_.end_choice(*lifecycle_.store().find(alive.front()), FinishReason::kFailed, error, now);
  } else if (std::any_of(alive.begin(), alive.end(),
                         [&](SequenceId id) { return lifecycle_.store().find(id)->failed_steps > step_retries_; })) {
    suspects_.insert(alive.begin(), alive.end());
  }
  events_.add(now, StepFailed{plan.model, plan.id, retryable, error});
  return StepOutcome::kRetryable;
}

void StepLoop::end_with_fatal(const std::string& reason, TimePoint now) {
  plan_ = {};
  fatal_ = reason.empty() ? "The executor is gone." : reason;
  events_.add(now, StepFailed{model_, {}, false, {ErrorCode::kUnavailable, *fatal_, "model_unavailable"}});
  lifecycle_.end_all({ErrorCode::kUnavailable, *fatal_, "model_unavailable"}, now);
}

void StepLoop::note_idle(TimePoint now) {
  if (idle_since_ || lifecycle_.store().empty()) return;
  idle_since_ = now;
  idle_reason_ = scheduler_.oldest_wait_reason();
}

void StepLoop::end_idle(TimePoint now) {
  if (!idle_since_) return;
  const Duration idle = now - *std::exchange(idle_since_, std::nullopt);
  if (idle <= Duration::zero()) return;
  tally_.idle[static_cast<std::size_t>(idle_reason_)] += idle;
  events_.add(now, IdleWhileWorkWaits{model_, idle, idle_reason_});
}

void StepLoop::check_invariants(TimePoint now) {
  const std::vector<std::string> broken = broken_rules(
      lifecycle_.store(), scheduler_.look(static_cast<std::size_t>(-1)), {parts_.kv.snapshot(), swap_.snapshot()});
  if (broken.empty() || fatal_) return;
  for (const std::string& rule : broken) spdlog::critical("engine invariant broken: {}", rule);
  end_with_fatal("The engine broke a rule of its own: " + broken.front(), now);
}

}  // namespace takt
