#include "load/answer_reader.h"

#include <algorithm>
#include <utility>

#include "api/utf8_text.h"
#include "load/answer_events.h"
#include "load/http_status.h"
#include "load/token_event.h"

namespace takt::load {
namespace {

using measure::Failure;
using measure::Outcome;

constexpr std::size_t kMaxDetailBytes = 200;

Outcome outcome_of(Failure failure, std::string_view code) {
  if (failure == Failure::kNone) return Outcome::kComplete;
  if (code == "queue_wait_expired") return Outcome::kExpired;
  if (failure == Failure::kRateLimited || failure == Failure::kOverloaded) return Outcome::kShed;
  return Outcome::kFailed;
}

}  // namespace

void AnswerReader::fail(Failure failure, std::string_view detail) {
  if (settled_) return;
  settled_ = true;
  sample_.failure = failure;
  sample_.record.outcome = outcome_of(failure, {});
  sample_.detail = api::to_utf8(detail.substr(0, kMaxDetailBytes));
}

void AnswerReader::head(const ResponseHead& head) {
  head_ = head;
  sample_.status = static_cast<std::uint16_t>(std::clamp(head.status, 0, 999));
  retry_after_ = head.retry_after_seconds;
}

void AnswerReader::body(TimePoint at, std::string_view bytes) {
  if (settled_) return;
  if (head_.status == http_status::kOk && head_.event_stream) {
    const auto status = sse_.push(bytes, [&](std::string_view event) { return take_event(at, event); });
    // take_event has failed the sample where the event itself was at fault.
    if (!status) fail(Failure::kTooLarge, status.error().message);
    return;
  }
  if (body_.size() + bytes.size() > kMaxBodyBytes) return fail(Failure::kTooLarge, "the answer's body");
  body_ += bytes;
}

Status AnswerReader::take_event(TimePoint at, std::string_view event) {
  if (event == "[DONE]") {
    done_ = true;
    return {};
  }
  // Thousands a second are nothing but a token.
  AnswerEvent plain;
  if (read_token_event(event, keep_text_, plain)) {
    take_token(at, plain);
    return {};
  }
  auto read = read_answer_event(event, keep_text_);
  if (!read) {
    fail(Failure::kWrongJson, event);
    return read.error();
  }
  if (read->error) {
    fail(Failure::kErrorEvent, *read->error);
    sample_.record.outcome = outcome_of(Failure::kErrorEvent, read->error_code);
    return Error::internal(*read->error);
  }
  take_token(at, *read);
  finished_ = finished_ || read->finished;
  if (read->prompt_tokens) sample_.prompt_tokens = read->prompt_tokens;
  if (read->completion_tokens) sample_.output_tokens = read->completion_tokens;
  if (read->cached_tokens) sample_.cached_tokens = read->cached_tokens;
  if (read->preemptions) sample_.preemptions = read->preemptions;
  if (read->queue) sample_.queue = read->queue;
  return {};
}

void AnswerReader::take_token(TimePoint at, const AnswerEvent& event) {
  if (!event.has_token) return;
  if (const auto gap = measure::note_tokens(sample_.record.times, at)) sample_.gaps.push_back(*gap);
  if (keep_text_ && text_.size() < kMaxTextBytes) text_ += event.text;
}

// An answer in one piece: all its tokens came at its end.
Status AnswerReader::take_whole(TimePoint at) {
  const auto status = take_event(at, body_);
  if (!settled_ && !finished_) fail(Failure::kWrongJson, body_);
  return status;
}

void AnswerReader::take_refusal() {
  const auto read = read_answer_event(body_, false);
  const std::string message = read && read->error ? *read->error : body_;
  const Failure failure = head_.status == http_status::kTooManyRequests ? Failure::kRateLimited
                          : head_.status == http_status::kUnavailable   ? Failure::kOverloaded
                                                                        : Failure::kHttpStatus;
  fail(failure, message);
  sample_.record.outcome = outcome_of(failure, read ? std::string_view(read->error_code) : std::string_view());
}

void AnswerReader::finish(TimePoint at, Failure failure, const std::string& detail) {
  auto& times = sample_.record.times;
  if (!settled_ && head_.status != 0 && head_.status != http_status::kOk) {
    take_refusal();
  } else if (!settled_ && head_.event_stream && announced_end()) {
    // Complete, however the connection ended.
  } else if (!settled_ && failure != Failure::kNone) {
    fail(failure, detail);
  } else if (!settled_ && head_.event_stream) {
    fail(Failure::kHalfAnswer, "the stream ended without an end");
  } else if (!settled_) {
    static_cast<void>(take_whole(at));
  }
  // Before the server's own count takes the place of ours.
  if (!settled_ && !times.first_token) fail(Failure::kNoTokens, "the answer has no text");
  if (sample_.output_tokens.value_or(0) > 0 && times.first_token) times.tokens = *sample_.output_tokens;
  times.end = !settled_ && times.first_token ? times.last_token : at;
  if (!settled_) sample_.record.outcome = Outcome::kComplete;
  settled_ = true;
}

}  // namespace takt::load
