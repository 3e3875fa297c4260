#include "http/outbox.h"

#include <charconv>
#include <exception>
#include <utility>

namespace takt::http {
namespace {

void append_chunk(std::string& out, std::string_view chunk) {
  char size[16];
  const auto end = std::to_chars(size, size + sizeof size, chunk.size(), 16).ptr;
  out.append(size, static_cast<std::size_t>(end - size)).append("\r\n").append(chunk).append("\r\n");
}

}  // namespace

Outbox::Outbox(Framing framing, std::size_t stream_limit, std::weak_ptr<OutboxListener> listener,
               std::shared_ptr<const std::atomic<bool>> draining)
    : stream_limit_(stream_limit),
      listener_(std::move(listener)),
      draining_(std::move(draining)),
      framing_(std::move(framing)) {}

void Outbox::queue_head(const Response& response, BodyFraming body) {
  status_ = response.status;
  body_ = body;
  framing_.keep_alive = framing_.keep_alive && !draining_->load(std::memory_order_relaxed);
  if (body == BodyFraming::kUntilClose) framing_.keep_alive = false;
  std::string head;
  append_head(head, response, framing_, body, response.body.size());
  pending_.append(head, begun_);
}

void Outbox::send(const Response& response) {
  std::unique_lock lock(mutex_);
  if (stage_ != Stage::kOpen) return;
  const bool has_body = status_has_body(response.status);
  queue_head(response, has_body ? BodyFraming::kLength : BodyFraming::kNone);
  if (has_body && !framing_.head_only) pending_ += response.body;
  finish(Stage::kEnded, lock);
}

void Outbox::begin_stream(int status, std::string content_type, Headers headers) {
  std::unique_lock lock(mutex_);
  if (stage_ != Stage::kOpen) return;
  Response head;
  head.status = status;
  head.content_type = std::move(content_type);
  head.headers = std::move(headers);
  BodyFraming body = framing_.http11 ? BodyFraming::kChunked : BodyFraming::kUntilClose;
  if (!status_has_body(status)) body = BodyFraming::kNone;
  queue_head(head, body);
  if (framing_.head_only) body_ = BodyFraming::kNone;
  stage_ = Stage::kStreaming;
  const bool notify = wants_wake();
  lock.unlock();
  if (notify) wake();
}

void Outbox::write(std::string_view chunk) {
  std::unique_lock lock(mutex_);
  if (stage_ != Stage::kStreaming || chunk.empty() || body_ == BodyFraming::kNone) return;
  const std::size_t queued = pending_.size() + in_flight_;
  if (queued > 0 && queued + chunk.size() > stream_limit_) {
    stage_ = Stage::kOverflowed;
    pending_ = {};
    lock.unlock();
    wake();
    return;
  }
  if (body_ == BodyFraming::kChunked) {
    append_chunk(pending_, chunk);
    zero_sent_ = false;
  } else {
    pending_ += chunk;
  }
  const bool notify = wants_wake();
  lock.unlock();
  if (notify) wake();
}

void Outbox::end_stream() {
  std::unique_lock lock(mutex_);
  if (stage_ != Stage::kStreaming) return;
  if (body_ == BodyFraming::kChunked) pending_ += "0\r\n\r\n";
  finish(Stage::kEnded, lock);
}

void Outbox::abort() {
  std::unique_lock lock(mutex_);
  if (stage_ != Stage::kOpen && stage_ != Stage::kStreaming) return;
  finish(Stage::kAborted, lock);
}

void Outbox::on_closed(std::function<void(Responder::Closed)> callback) {
  {
    std::lock_guard lock(mutex_);
    if (stage_ == Stage::kEnded || stage_ == Stage::kAborted) return;
    if (stage_ != Stage::kClosed) {
      callback_ = std::move(callback);
      return;
    }
  }
  callback(closed_reason_);
}

std::size_t Outbox::queued_bytes() const {
  std::lock_guard lock(mutex_);
  return pending_.size() + in_flight_;
}

bool Outbox::head_queued() const {
  std::lock_guard lock(mutex_);
  return stage_ != Stage::kOpen;
}

Outbox::Next Outbox::take(std::string& bytes) {
  std::lock_guard lock(mutex_);
  listener_busy_ = false;
  if (stage_ == Stage::kOverflowed) return Next::kOverflowed;
  if (!pending_.empty()) {
    bytes.swap(pending_);
    in_flight_ = bytes.size();
    listener_busy_ = true;
    return Next::kBytes;
  }
  if (stage_ == Stage::kEnded) return Next::kEnded;
  return stage_ == Stage::kAborted ? Next::kAborted : Next::kWait;
}

void Outbox::set_in_flight(std::size_t bytes) {
  std::lock_guard lock(mutex_);
  in_flight_ = bytes;
}

void Outbox::close(Responder::Closed reason) {
  std::function<void(Responder::Closed)> callback;
  {
    std::lock_guard lock(mutex_);
    pending_ = {};
    in_flight_ = 0;
    if (stage_ == Stage::kEnded || stage_ == Stage::kAborted || stage_ == Stage::kClosed) return;
    stage_ = Stage::kClosed;
    closed_reason_ = reason;
    callback = std::exchange(callback_, nullptr);
  }
  if (callback) callback(reason);
}

bool Outbox::probe() {
  std::lock_guard lock(mutex_);
  if (!pending_.empty() || in_flight_ > 0) return false;
  if (stage_ == Stage::kOpen) {
    const std::string_view prefix = version_prefix(framing_);
    if (begun_ == prefix.size()) return false;
    pending_ += prefix[begun_++];
    return true;
  }
  if (stage_ != Stage::kStreaming || body_ != BodyFraming::kChunked || zero_sent_) return false;
  pending_ += '0';
  zero_sent_ = true;
  return true;
}

int Outbox::status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

bool Outbox::keep_alive() const {
  std::lock_guard lock(mutex_);
  return framing_.keep_alive;
}

bool Outbox::ends_by_close() const {
  std::lock_guard lock(mutex_);
  return body_ == BodyFraming::kUntilClose;
}

bool Outbox::overflowed() const {
  std::lock_guard lock(mutex_);
  return stage_ == Stage::kOverflowed;
}

bool Outbox::wants_wake() {
  return !std::exchange(listener_busy_, true);
}

void Outbox::finish(Stage stage, std::unique_lock<std::mutex>& lock) {
  stage_ = stage;
  const auto forgotten = std::exchange(callback_, nullptr);
  const bool notify = wants_wake();
  lock.unlock();
  if (notify) wake();
}

void Outbox::wake() {
  if (auto listener = listener_.lock()) listener->outbox_changed();
}

Answer::Answer(std::shared_ptr<Outbox> outbox, std::function<Response()> fallback)
    : outbox_(std::move(outbox)), fallback_(std::move(fallback)) {}

Answer::~Answer() {
  if (!outbox_->head_queued()) {
    try {
      outbox_->send(fallback_());
    } catch (const std::exception&) {
      outbox_->abort();
    }
  }
  outbox_->abort();
}

}  // namespace takt::http
