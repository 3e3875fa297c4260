// Where the threads that answer meet the network thread that sends: the bytes of one answer and its state.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "http/handler.h"
#include "http/response_head.h"

namespace takt::http {

// The connection's side: told, on any thread, that take() has something new.
class OutboxListener {
 public:
  virtual ~OutboxListener() = default;
  virtual void outbox_changed() = 0;
};

// Bytes gather here while a write is under way, so that several chunks leave in one system call.
class Outbox {
 public:
  // draining: answers that begin while it is true close their connection.
  Outbox(Framing framing, std::size_t stream_limit, std::weak_ptr<OutboxListener> listener,
         std::shared_ptr<const std::atomic<bool>> draining);

  // The answering side: see Responder.
  void send(const Response& response);
  void begin_stream(int status, std::string content_type, Headers headers);
  void write(std::string_view chunk);
  void end_stream();
  void abort();
  void on_closed(std::function<void(Responder::Closed)> callback);
  std::size_t queued_bytes() const;
  bool head_queued() const;

  // The connection's side. kBytes: `bytes` (empty before) holds what to send next; otherwise it is unchanged.
  enum class Next { kWait, kBytes, kEnded, kAborted, kOverflowed };
  Next take(std::string& bytes);
  void set_in_flight(std::size_t bytes);
  // The client has gone or is cut: fires on_closed's callback on this thread unless the answer has ended.
  void close(Responder::Closed reason);
  // Queues a byte that changes no answer but makes the other side's system tell whether it still reads: before the head
  // the next byte of what every answer begins with ("HTTP/1.1 "), inside a chunked stream a leading zero of the next
  // chunk's size. False when there is no such byte now, or something is on its way anyway.
  bool probe();

  bool overflowed() const;

  int status() const;
  bool keep_alive() const;
  bool ends_by_close() const;  // a stream over HTTP/1.0

 private:
  enum class Stage { kOpen, kStreaming, kEnded, kAborted, kOverflowed, kClosed };

  void queue_head(const Response& response, BodyFraming body);
  bool wants_wake();
  void finish(Stage stage, std::unique_lock<std::mutex>& lock);
  void wake();

  const std::size_t stream_limit_;
  const std::weak_ptr<OutboxListener> listener_;
  const std::shared_ptr<const std::atomic<bool>> draining_;

  mutable std::mutex mutex_;
  Framing framing_;
  Stage stage_ = Stage::kOpen;
  BodyFraming body_ = BodyFraming::kNone;
  Responder::Closed closed_reason_ = Responder::Closed::kClientGone;
  int status_ = 0;
  bool listener_busy_ = false;  // the connection will call take() again by itself
  std::size_t begun_ = 0;       // bytes of the answer's head that probes have queued
  bool zero_sent_ = false;      // a probe already begins the next chunk's size
  std::string pending_;
  std::size_t in_flight_ = 0;
  std::function<void(Responder::Closed)> callback_;
};

// What the handler gets. Dropped unanswered, it answers by `fallback`.
class Answer final : public Responder {
 public:
  Answer(std::shared_ptr<Outbox> outbox, std::function<Response()> fallback);
  ~Answer() override;

  void send(Response response) override { outbox_->send(response); }
  void begin_stream(int status, std::string content_type, Headers headers) override {
    outbox_->begin_stream(status, std::move(content_type), std::move(headers));
  }
  void write(std::string chunk) override { outbox_->write(chunk); }
  void end_stream() override { outbox_->end_stream(); }
  void abort() override { outbox_->abort(); }
  void on_closed(std::function<void(Closed)> callback) override { outbox_->on_closed(std::move(callback)); }
  std::size_t queued_bytes() const override { return outbox_->queued_bytes(); }

 private:
  const std::shared_ptr<Outbox> outbox_;
  const std::function<Response()> fallback_;
};

}  // namespace takt::http
