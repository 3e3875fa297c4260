#include "engine/lifecycle.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <string>
#include <utility>

namespace takt {

// So short that to say it takes no memory.
Error out_of_memory() {
  return {ErrorCode::kUnavailable, "Out of memory.", {}};
}

namespace {

TimePoint expiry_of(const EngineRequest& request) {
  const Duration patience = request.targets.max_queue_wait;
  // Longer than a day is for ever; the sum must not overflow.
  if (patience > std::chrono::hours(24)) return TimePoint::max();
  return request.arrival + patience;
}

TimePoint deadline_of(const EngineRequest& request) {
  const Duration wanted = request.deadline > Duration::zero() ? request.deadline : request.targets.ttft;
  if (wanted > std::chrono::hours(24)) return TimePoint::max();
  return request.arrival + wanted;
}

Accepted acceptance_of(const EngineRequest& request) {
  return {request.id,      request.model,   request.labels,
          request.targets, request.arrival, static_cast<std::uint32_t>(request.prompt.size()),
          request.choices};
}

// A ChoiceFinished each, and Closed.
std::size_t events_of_end(const EngineRequest& request) {
  return std::size_t{request.choices} + 1;
}

}  // namespace

void Lifecycle::accept(SubmitCommand& command, TimePoint now) {
  if (store_.find(command.request.id) != nullptr) {
    // Two requests of one name cannot be told apart in events; the caller broke the contract, and the first one goes
    // on.
    door_.leave(command.ticket, command.request.choices);
    return;
  }
  Accepted accepted = acceptance_of(command.request);
  events_.reserve(events_of_end(command.request) + 1);
  const RequestRecord& record = store_.add(command.request, command.ticket, command.limit_tokens, now);
  events_.add(now, std::move(accepted));
  try {
    enter_everywhere(record, now);
  } catch (const std::exception&) {
    end_request(record.request.id, FinishReason::kFailed, out_of_memory(), now);
  }
}

void Lifecycle::refuse(SubmitCommand& command, const Error& error, TimePoint now) {
  const EngineRequest& request = command.request;
  Accepted accepted = acceptance_of(request);
  events_.reserve(events_of_end(request) + 1);
  events_.add(now, std::move(accepted));
  for (std::uint32_t choice = 0; choice < request.choices; ++choice)
    events_.add(now, ChoiceFinished{request.id, choice, FinishReason::kFailed, 0, error});
  events_.add(now,
              Closed{request.id, RequestPhase::kQueued, FinishReason::kFailed, request.sampling.seed, 0, 0, {}, 0});
  door_.leave(command.ticket, request.choices);
}

void Lifecycle::enter_everywhere(const RequestRecord& record, TimePoint now) {
  const EngineRequest& request = record.request;
  const auto prompt_tokens = static_cast<std::uint32_t>(request.prompt.size());
  for (const SequenceRecord& s : record.sequences) {
    SequenceFacts facts;
    facts.id = s.id;
    facts.tier = request.labels.tier;
    facts.service_class = request.service_class;
    facts.weight = request.weight;
    facts.deadline = deadline_of(request);
    facts.window = request.targets.window;
    facts.tenant = TenantId(std::hash<std::string>{}(request.labels.tenant));
    facts.itl_target = request.targets.itl;
    facts.prompt_tokens = prompt_tokens;
    facts.limit_tokens = record.limit_tokens;
    facts.reserve_tokens = reserve_of(record);
    KvSequenceOptions kv{request.cache_salt,
                         request.use_prefix_cache,
                         {},
                         0,
                         request.labels.tier,
                         std::min(request.targets.pinned_prefix_tokens, prompt_tokens)};
    if (s.choice == 0) {
      facts.siblings = request.choices - 1;
      facts.scores_prompt = request.prompt_logprobs;
      facts.expires_at = expiry_of(request);
      kv.has_forks = request.choices > 1;
    } else {
      facts.leader = record.sequences[0].id;
      kv.source = facts.leader;
    }
    kv.shared_tokens = prompt_tokens;
    kv_.open(s.id, kv);
    scheduler_.add(facts, now);
    if (tape_ != nullptr) tape_->added(facts, request.id, s.choice, now);
  }
}

std::uint32_t Lifecycle::reserve_of(const RequestRecord& record) const {
  switch (scheduler_.options().reserve) {
    case KvReserve::kPaged:
      break;
    case KvReserve::kWorstCase:
      return record.limit_tokens;
    case KvReserve::kContext:
      return longest_sequence(executor_.capabilities());
  }
  return 0;
}

void Lifecycle::reserve_anew(TimePoint now) {
  for (const RequestId id : store_.ids()) {
    const RequestRecord& record = *store_.find(id);
    for (const SequenceRecord& s : record.sequences) {
      if (s.over) continue;
      scheduler_.set_reserve(s.id, reserve_of(record));
      if (tape_ != nullptr) tape_->reserve_set(s.id, reserve_of(record), now);
    }
  }
}

void Lifecycle::cancel(RequestId request, CancelCause cause, TimePoint now) {
  if (cause == CancelCause::kShutdown) {
    end_request(request, FinishReason::kFailed, {ErrorCode::kUnavailable, "The server shut down.", "draining"}, now);
  } else {
    end_request(request, FinishReason::kCancelled, {}, now);
  }
}

void Lifecycle::finish_choice(RequestId request, std::uint32_t choice, TimePoint now) {
  RequestRecord* record = store_.find(request);
  if (record == nullptr || choice >= record->sequences.size() || record->sequences[choice].over) return;
  end_choice(record->sequences[choice], FinishReason::kStop, {}, now);
}

void Lifecycle::expire(TimePoint now) {
  for (const SequenceId id : scheduler_.expired(now)) {
    const SequenceRecord* s = store_.find(id);
    if (s == nullptr) continue;
    const double limit = to_seconds(s->request->request.targets.max_queue_wait);
    end_request(
        s->request->request.id, FinishReason::kExpired,
        {ErrorCode::kExpired, "The request waited longer than its limit of " + std::to_string(limit) + " seconds.", {}},
        now);
  }
}

void Lifecycle::end_request(RequestId request, FinishReason reason, const Error& error, TimePoint now) {
  RequestRecord* record = store_.find(request);
  if (record == nullptr) return;
  // From the last choice to the first: a first choice that goes early would hand its part to a sibling.
  for (std::size_t i = record->sequences.size(); i > 0; --i) {
    const bool last = record->choices_left == 1;
    SequenceRecord& s = record->sequences[i - 1];
    if (s.over) continue;
    end_choice(s, reason, error, now);
    if (last) return;
  }
}

void Lifecycle::end_all(const Error& error, TimePoint now) {
  for (const RequestId id : store_.ids()) end_request(id, FinishReason::kFailed, error, now);
}

void Lifecycle::end_choice(SequenceRecord& s, FinishReason reason, Error error, TimePoint now) {
  RequestRecord& record = *s.request;
  const RequestId request = record.request.id;
  const bool natural_end = reason == FinishReason::kStop || reason == FinishReason::kLength;
  events_.reserve(2);
  if (natural_end) scheduler_.note_length(s.id);
  // From here on nothing fails.
  const RequestPhase phase = record.phase();
  s.over = true;
  add_difference(record.waited, scheduler_.waited(s.id, now), WaitTimes{});
  record.preemptions += scheduler_.preemptions(s.id);
  const bool is_on_tape = tape_ != nullptr && scheduler_.knows(s.id);  // not where it found no memory on its way in
  scheduler_.remove(s.id, now);
  if (is_on_tape) tape_->removed(s.id, natural_end, now);
  swap_.release(s.id);
  kv_.close(s.id, natural_end ? SequenceEnd::kTurnEnded : SequenceEnd::kGone);
  close_in_executor(s);
  door_.leave(record.ticket, 1);
  events_.add(now, ChoiceFinished{request, s.choice, reason, s.generated(), std::move(error)});
  if (--record.choices_left > 0) return;
  events_.add(now, Closed{request, phase, reason, record.request.sampling.seed, record.cached_tokens,
                          record.preemptions, record.waited, record.prompt_steps});
  store_.erase(request);
}

void Lifecycle::admitted(const SequenceRecord& s, std::uint32_t cached_tokens, TimePoint now) {
  RequestRecord& record = *s.request;
  if (record.admitted) return;
  record.admitted = true;
  record.cached_tokens = cached_tokens;
  door_.admitted(record.ticket);
  // Every prompt row of a scored prompt is computed.
  const PrefixMiss miss = record.request.prompt_logprobs ? PrefixMiss::kOff : kv_.prefix_miss(s.id);
  events_.add(now, Admitted{record.request.id, cached_tokens, miss});
}

Status Lifecycle::open_in_executor(SequenceRecord& s) {
  if (s.open_in_executor) return {};
  const EngineRequest& request = s.request->request;
  SequenceSpec spec;
  spec.id = s.id;
  spec.sampling = request.sampling;
  spec.sampling.seed = s.seed;
  spec.end_tokens = request.end_tokens;
  spec.known_tokens = s.known;
  spec.prompt_tokens = static_cast<std::uint32_t>(request.prompt.size());
  Status opened = executor_.open(std::move(spec));
  s.open_in_executor = opened.ok();
  return opened;
}

void Lifecycle::close_in_executor(SequenceRecord& s) noexcept {
  if (!s.open_in_executor) return;
  executor_.close(s.id);
  s.open_in_executor = false;
}

}  // namespace takt
