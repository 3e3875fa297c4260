// Keeps what a handler answers, and lets a test wait for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "http/handler.h"

namespace takt::test {

class RecordingResponder final : public http::Responder {
 public:
  struct Record {
    int status = 0;
    http::Headers headers;
    std::string body;  // of a whole answer, or the chunks of a stream so far
    bool streaming = false;
    bool ended = false;
    bool aborted = false;
    std::size_t writes = 0;

    std::string header(std::string_view name) const {
      for (const auto& [key, value] : headers) {
        if (key == name) return value;
      }
      return {};
    }
  };

  void send(http::Response response) override {
    change([&](Record& record) {
      record.status = response.status;
      record.headers = std::move(response.headers);
      record.body = std::move(response.body);
      record.ended = true;
    });
  }
  void begin_stream(int status, std::string content_type, http::Headers headers) override {
    change([&](Record& record) {
      record.status = status;
      record.headers = std::move(headers);
      record.headers.emplace_back("content-type", std::move(content_type));
      record.streaming = true;
    });
  }
  void write(std::string chunk) override {
    change([&](Record& record) {
      record.body += chunk;
      ++record.writes;
    });
  }
  void end_stream() override {
    change([](Record& record) { record.ended = true; });
  }
  void abort() override {
    change([](Record& record) { record.ended = record.aborted = true; });
  }
  void on_closed(std::function<void(Closed)> callback) override {
    std::lock_guard lock(mutex_);
    on_closed_ = std::move(callback);
  }
  std::size_t queued_bytes() const override {
    std::lock_guard lock(mutex_);
    ++queue_looks_;
    changed_.notify_all();
    return queued_;
  }

  // The client goes away or is cut.
  void close(Closed why = Closed::kClientGone) {
    std::function<void(Closed)> callback;
    {
      std::lock_guard lock(mutex_);
      callback = on_closed_;
    }
    if (callback) callback(why);
  }
  void set_queued_bytes(std::size_t bytes) {
    std::lock_guard lock(mutex_);
    queued_ = bytes;
    queue_looks_ = 0;
  }
  // Waits until somebody has asked for queued_bytes() since they were set.
  bool wait_queue_seen() const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return queue_looks_ > 0; });
  }

  Record record() const {
    std::lock_guard lock(mutex_);
    return record_;
  }
  // False when it does not become true in time.
  bool wait_for(const std::function<bool(const Record&)>& condition) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return condition(record_); });
  }
  bool wait_ended() const {
    return wait_for([](const Record& record) { return record.ended; });
  }

 private:
  template <typename Change>
  void change(Change make) {
    {
      std::lock_guard lock(mutex_);
      if (record_.ended) return;
      make(record_);
    }
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Record record_;
  std::function<void(Closed)> on_closed_;
  std::size_t queued_ = 0;
  mutable std::size_t queue_looks_ = 0;
};

}  // namespace takt::test
