#include "load/active_request.h"

#include <utility>

namespace takt::load {

using measure::Failure;

void ActiveRequest::begin() {
  reader_.emplace(sample, keep_text_);
  const TimePoint now = transport_.now();
  timeout_call_ = transport_.call_at(now + timeout, [this] {
    timeout_call_.reset();
    cut(transport_.now(), Failure::kTimeout, "no complete answer in time");
  });
  if (cancel_after) {
    cancel_call_ = transport_.call_at(now + *cancel_after, [this] {
      cancel_call_.reset();
      cancel(transport_.now());
    });
  }
  if (may_repeat) {
    exchange_ = transport_.send(outgoing, *this);
  } else {
    exchange_ = transport_.send(std::move(outgoing), *this);
  }
}

void ActiveRequest::begin_again() {
  ++sample.retries;
  sample.failure = Failure::kNone;
  sample.record.outcome = measure::Outcome::kComplete;
  sample.detail.clear();
  sample.record.times.end.reset();
  begin();
}

void ActiveRequest::give_up(TimePoint now) {
  cut(now, Failure::kUnfinished, "the run was over");
}

void ActiveRequest::on_head(TimePoint /*at*/, const ResponseHead& head) {
  reader_->head(head);
}

void ActiveRequest::on_body(TimePoint at, std::string_view bytes) {
  reader_->body(at, bytes);
  // What failed is not listened to any longer: a server may send for ever.
  if (reader_->settled()) cut(at, sample.failure, sample.detail);
}

void ActiveRequest::on_end(TimePoint at, Failure failure, const std::string& detail) {
  exchange_.reset();
  let_go();
  reader_->finish(at, failure, detail);
  owner_.request_over(*this, at);
}

void ActiveRequest::cut(TimePoint at, Failure failure, const std::string& detail) {
  let_go();
  reader_->finish(at, failure, std::string(detail));
  owner_.request_over(*this, at);
}

void ActiveRequest::cancel(TimePoint at) {
  let_go();
  reader_->finish(at, Failure::kUnfinished, "cancelled by its sender");
  sample.failure = Failure::kNone;
  sample.record.outcome = measure::Outcome::kCancelled;
  owner_.request_over(*this, at);
}

void ActiveRequest::let_go() {
  if (exchange_) transport_.abandon(*std::exchange(exchange_, std::nullopt));
  if (timeout_call_) transport_.cancel_call(*std::exchange(timeout_call_, std::nullopt));
  if (cancel_call_) transport_.cancel_call(*std::exchange(cancel_call_, std::nullopt));
}

}  // namespace takt::load
