#include "serve/answer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/write_answer.h"
#include "serve/access_log.h"

namespace takt::serve {

namespace {

// A choice that the engine gave up although its client still waits: the server ends it.
Error unfinished(const ChoiceFinished& event) {
  if (!event.error.message.empty()) return event.error;
  if (event.reason == FinishReason::kExpired)
    return {ErrorCode::kExpired, "The request waited longer in the queue than its class allows", {}};
  if (event.reason == FinishReason::kCancelled)
    return {ErrorCode::kUnavailable, "The server is shutting down", "draining"};
  return Error::internal("The answer could not be completed");
}

// The offsets of a prompt's tokens in its text. The text may spell control tokens, and lack the space that some
// tokenizers put before it.
void place_in_text(const Tokenizer& tokenizer, const AnswerPart& asked, std::vector<api::ScoredToken>& tokens) {
  TokenOffsets offsets;
  std::string_view rest = asked.prompt_text;
  for (std::size_t i = 0; i < tokens.size() && i < asked.prompt.size(); ++i) {
    std::string_view piece = tokenizer.piece(asked.prompt[i], false);
    const std::string_view spelled = tokenizer.piece(asked.prompt[i], true);
    if (piece.empty() && rest.starts_with(spelled)) piece = spelled;
    const bool at_start = rest.size() == asked.prompt_text.size();
    if (at_start && piece.starts_with(' ') && !rest.starts_with(' ')) piece.remove_prefix(1);
    tokens[i].text_offset = offsets.next(piece);
    rest.remove_prefix(std::min(piece.size(), rest.size()));
  }
}

}  // namespace

Answer::Answer(std::shared_ptr<Exchange> exchange, AnswerPlan plan, const ServeOptions& options)
    : exchange_(std::move(exchange)), plan_(std::move(plan)), options_(options), parts_(plan_.parts.size()) {
  const std::size_t choices = plan_.parts.size() * plan_.choices;
  choices_.reserve(choices);
  for (std::size_t i = 0; i < choices; ++i)
    choices_.push_back({ChoiceText(*plan_.tokenizer, plan_.stops, plan_.head.logprobs), false, {}, false});
}

void Answer::on(TimePoint at, const Accepted&) {
  if (!accepted_) accepted_ = at;
  if (!plan_.stream || !exchange_->early_status || begun_ || over()) return;
  begin_stream(at);
  place_unsaid_ = true;
}

void Answer::on(TimePoint at, const Admitted&) {
  if (!admitted_) admitted_ = at;
  place_unsaid_ = false;
  if (plan_.stream && !begun_ && !over()) begin_stream(at);
}

void Answer::on(TimePoint, const PromptScored& event) {
  const auto part = part_of(event.request);
  if (!part) return;
  for (const PromptLogprob& scored : event.logprobs) {
    parts_[*part].scored_prompt.push_back(scored_token(*plan_.tokenizer, {scored.token, scored.logprob, scored.top}));
  }
}

void Answer::on(TimePoint at, const TokenSampled& event) {
  Choice* choice = choice_of(event.request, event.choice);
  if (choice == nullptr || choice->finish) return;  // computed past a stop string: dropped
  has_news_ = true;
  if (!first_token_) first_token_ = at;
  echo_prompt(*part_of(event.request));
  if (choice->text.add(event.token)) {
    choice->finish = FinishReason::kStop;
    plan_.engine->finish_choice(event.request, event.choice);
  }
}

void Answer::on(TimePoint at, const ChoiceFinished& event) {
  Choice* choice = choice_of(event.request, event.choice);
  if (choice == nullptr || choice->finish) return;
  if (event.reason != FinishReason::kStop && event.reason != FinishReason::kLength) return fail(unfinished(event), at);
  echo_prompt(*part_of(event.request));
  has_news_ = true;
  const bool stopped = choice->text.finish();
  choice->finish = stopped ? FinishReason::kStop : event.reason;
}

void Answer::on(TimePoint at, const Closed& event) {
  const auto part = part_of(event.request);
  if (!part || over()) return;
  parts_[*part].closed = event;
  if (!complete()) return;
  const bool all_finished =
      std::all_of(choices_.begin(), choices_.end(), [](const Choice& choice) { return choice.finish.has_value(); });
  if (!all_finished) return fail(Error::internal("The answer ended without all of its choices"), at);
  ended_ = at;
}

void Answer::flush(TimePoint now) {
  if (over() || !(has_news_ || ended_ || behind_since_ || place_unsaid_)) return;
  if (std::exchange(place_unsaid_, false)) exchange_->responder->write(sign_of_life());
  if (begun_ && !reader_is_behind(now)) {
    std::string chunk = news();
    if (!chunk.empty()) {
      exchange_->responder->write(std::move(chunk));
      last_write_ = now;
    }
  }
  if (ended_ && !behind_since_) conclude(*ended_, now);
}

void Answer::tick(TimePoint now) {
  if (over() || !begun_) return;
  flush(now);
  if (over()) return;
  if (behind_since_) {
    if (now - *behind_since_ < options_.reader_patience) return;
    abandon(CancelCause::kSlowReader, now);
    exchange_->responder->abort();
  } else if (now - last_write_ >= options_.keep_alive) {
    exchange_->responder->write(sign_of_life());
    last_write_ = now;
  }
}

void Answer::fail(const Error& error, TimePoint now) {
  if (over()) return;
  give_up(error, now);
  cancel_open_parts(CancelCause::kClientGone);
}

void Answer::give_up(const Error& error, TimePoint now) {
  if (over()) return;
  api::ApiError shown = api::to_api_error(error);
  // The server that ends will not be there in a second.
  if (shown.code == "draining") shown.retry_after_seconds = options_.drain_retry_after_seconds;
  if (begun_) {
    exchange_->responder->write(news() + api::sse_data(api::error_body(shown)));
    end(AnswerOutcome::kFailed, now, &shown);
    exchange_->responder->abort();
  } else {
    end(AnswerOutcome::kFailed, now, &shown);
    answer_error(*exchange_, shown);
  }
}

void Answer::abandon(CancelCause cause, TimePoint now) {
  if (over()) return;
  end(cause == CancelCause::kSlowReader ? AnswerOutcome::kSlowReader : AnswerOutcome::kClientGone, now);
  cancel_open_parts(cause);
}

std::optional<std::uint32_t> Answer::part_of(RequestId request) const {
  for (std::uint32_t i = 0; i < plan_.parts.size(); ++i) {
    if (plan_.parts[i].id == request) return i;
  }
  return std::nullopt;
}

Answer::Choice* Answer::choice_of(RequestId request, std::uint32_t choice) {
  const auto part = part_of(request);
  if (!part || choice >= plan_.choices || over()) return nullptr;
  return &choices_[std::size_t{*part} * plan_.choices + choice];
}

// Once a part, before its first token: the prompt's own text and logprobs come before the answer's. A prompt's first
// token has no logprob.
void Answer::echo_prompt(std::uint32_t part) {
  if (!plan_.echo || parts_[part].echoed) return;
  parts_[part].echoed = true;
  const AnswerPart& asked = plan_.parts[part];
  std::vector<api::ScoredToken> tokens;
  if (plan_.head.logprobs) {
    api::ScoredToken first;
    first.bytes = plan_.tokenizer->piece(asked.prompt.front(), true);
    tokens.push_back(std::move(first));
    tokens.insert(tokens.end(), parts_[part].scored_prompt.begin(), parts_[part].scored_prompt.end());
    place_in_text(*plan_.tokenizer, asked, tokens);
  }
  for (std::uint32_t c = 0; c < plan_.choices; ++c) {
    choices_[std::size_t{part} * plan_.choices + c].text.echo(asked.prompt_text, tokens);
  }
}

void Answer::begin_stream(TimePoint at) {
  http::Headers headers = answer_headers(exchange_->id);
  headers.emplace_back("x-takt-seed", std::to_string(plan_.seed));
  headers.emplace_back("cache-control", "no-cache");
  headers.emplace_back("x-accel-buffering", "no");  // proxies of the nginx family hold streams back otherwise
  exchange_->responder->begin_stream(200, "text/event-stream", std::move(headers));
  begun_ = true;
  last_write_ = at;
}

// A comment line: the place in the queue while there is one.
std::string Answer::sign_of_life() const {
  const auto place = exchange_->load != nullptr ? exchange_->load->place_of(id()) : std::nullopt;
  if (!place) return api::sse_comment("keep-alive");
  std::string text = "queue position " + std::to_string(place->position);
  if (place->predicted) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(*place->predicted).count();
    text += ", starts in about " + std::to_string(seconds) + " s";
  }
  return api::sse_comment(text);
}

// The chunks for everything that was not sent yet.
std::string Answer::news() {
  has_news_ = false;
  std::string chunks;
  for (std::uint32_t i = 0; i < choices_.size(); ++i) {
    Choice& choice = choices_[i];
    if (choice.text.has_news()) {
      chunks += api::sse_data(
          api::stream_chunk(plan_.head, {i, !choice.sent, choice.text.take_text(), choice.text.take_tokens(), {}}));
      choice.sent = true;
    }
    if (choice.finish && !choice.finish_sent) {
      chunks += api::sse_data(api::stream_chunk(plan_.head, {i, !choice.sent, {}, {}, choice.finish}));
      choice.sent = choice.finish_sent = true;
    }
  }
  return chunks;
}

bool Answer::reader_is_behind(TimePoint now) {
  if (exchange_->responder->queued_bytes() <= options_.reader_behind_bytes) {
    behind_since_.reset();
  } else if (!behind_since_) {
    behind_since_ = now;
  }
  return behind_since_.has_value();
}

bool Answer::complete() const {
  return std::all_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.closed.has_value(); });
}

void Answer::conclude(TimePoint ended, TimePoint now) {
  const api::AnswerTimings times = timings(ended);
  if (plan_.stream) {
    if (!begun_) begin_stream(now);
    std::string tail = news();
    if (plan_.head.include_usage) tail += api::sse_data(api::usage_chunk(plan_.head, usage(), times));
    tail += api::kStreamEnd;
    exchange_->responder->write(std::move(tail));
    end(AnswerOutcome::kAnswered, now);
    exchange_->responder->end_stream();
    return;
  }
  std::vector<api::ChoiceDelta> whole;
  whole.reserve(choices_.size());
  for (std::uint32_t i = 0; i < choices_.size(); ++i) {
    whole.push_back({i, true, choices_[i].text.take_text(), choices_[i].text.take_tokens(), choices_[i].finish});
  }
  http::Response response;
  response.headers = answer_headers(exchange_->id);
  response.headers.emplace_back("x-takt-seed", std::to_string(plan_.seed));
  response.headers.emplace_back("x-takt-timing", api::timing_header(times));
  response.body = api::whole_answer(plan_.head, whole, usage(), times);
  end(AnswerOutcome::kAnswered, now);
  exchange_->responder->send(std::move(response));
}

void Answer::end(AnswerOutcome outcome, TimePoint at, const api::ApiError* error) {
  exchange_->over.store(true);  // before anything else: see Exchange
  outcome_ = outcome;
  const api::Usage used = usage();
  leave_quota(*exchange_, used.completion_tokens);
  if (!options_.access_log) return;
  AccessEntry entry;
  entry.id = exchange_->id;
  entry.labels = plan_.labels;
  entry.outcome = to_string(outcome);
  entry.prompt_tokens = used.prompt_tokens;
  entry.cached_tokens = used.cached_tokens;
  entry.output_tokens = used.completion_tokens;
  if (admitted_) entry.queue = *admitted_ - accepted_.value_or(*admitted_);
  if (first_token_) entry.ttft = *first_token_ - exchange_->arrival;
  entry.total = at - exchange_->arrival;
  if (error != nullptr) {
    entry.code = error->code;
    if (!begun_) entry.outcome = outcome_of(*error);
  }
  log_access(entry);
}

api::Usage Answer::usage() const {
  api::Usage usage;
  for (const AnswerPart& part : plan_.parts) usage.prompt_tokens += part.prompt.size();
  for (const Choice& choice : choices_) usage.completion_tokens += choice.text.tokens();
  for (const Part& part : parts_) usage.cached_tokens += part.closed ? part.closed->cached_tokens : 0;
  return usage;
}

api::AnswerTimings Answer::timings(TimePoint end) const {
  api::AnswerTimings timings;
  timings.request = api::request_name(exchange_->id);
  timings.seed = plan_.seed;
  timings.cached_tokens = usage().cached_tokens;
  const TimePoint accepted = accepted_.value_or(admitted_.value_or(end));
  timings.preparing = accepted - exchange_->arrival;
  timings.queue = admitted_.value_or(end) - accepted;
  timings.ttft = first_token_.value_or(end) - exchange_->arrival;
  timings.prefill = first_token_.value_or(end) - admitted_.value_or(end);
  timings.decode = end - first_token_.value_or(end);
  timings.total = end - exchange_->arrival;
  std::array<Duration, kWaitReasonCount> waited{};
  for (const Part& part : parts_) {
    if (!part.closed) continue;
    timings.preemptions += part.closed->preemptions;
    for (std::size_t i = 0; i < waited.size(); ++i) waited[i] += part.closed->waited[i];
  }
  for (std::size_t i = 0; i < waited.size(); ++i) {
    if (waited[i] > Duration::zero()) timings.waited.emplace_back(to_string(static_cast<WaitReason>(i)), waited[i]);
  }
  return timings;
}

void Answer::cancel_open_parts(CancelCause cause) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!parts_[i].closed) plan_.engine->cancel(plan_.parts[i].id, cause);
  }
}

}  // namespace takt::serve
