// A server on a free loopback port whose handler is a function of the test.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "e2e/http_client.h"
#include "http/server.h"

namespace takt::http {

inline constexpr std::chrono::seconds kPatience{20};

// Things that happen on other threads, waited for.
template <typename T>
class Happened {
 public:
  void push(T item) {
    std::lock_guard lock(mutex_);
    items_.push_back(std::move(item));
    changed_.notify_all();
  }
  // Empty when it does not happen.
  std::optional<T> next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [&] { return !items_.empty(); })) return std::nullopt;
    T item = std::move(items_.front());
    items_.pop_front();
    return item;
  }
  std::size_t size() const {
    std::lock_guard lock(mutex_);
    return items_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> items_;
};

struct Call {
  Request request;
  std::shared_ptr<Responder> responder;
};

class FunctionHandler final : public Handler {
 public:
  std::function<void(Request, std::shared_ptr<Responder>)> function;
  std::function<std::optional<Response>(Request&)> judge;
  std::optional<Response> refuse_by_head(Request& head) override {
    return judge ? judge(head) : Handler::refuse_by_head(head);
  }
  void handle(Request request, std::shared_ptr<Responder> responder) override {
    function(std::move(request), std::move(responder));
  }
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    options.port = 0;
    handler.function = [this](Request request, std::shared_ptr<Responder> responder) {
      calls.push({std::move(request), std::move(responder)});
    };
    hooks.on_access = [this](const AccessRecord& record) { accesses.push(record); };
    hooks.render_error = [](int status, std::string_view reason) {
      Response response;
      response.status = status;
      response.content_type = "application/x-test-error";
      response.body = reason;
      return response;
    };
  }

  void start() {
    auto started = Server::start(options, hooks, handler);
    ASSERT_TRUE(started) << started.error().message;
    server = std::move(started).value();
  }
  // Answers every request by its own path and body.
  void answer_by_echo() {
    handler.function = [](Request request, std::shared_ptr<Responder> responder) {
      Response response;
      response.content_type = "text/plain";
      response.body = request.method + " " + request.path + " " + request.body;
      responder->send(std::move(response));
    };
  }
  test::Connection connect(int receive_buffer_bytes = 0) {
    test::Connection::Options client;
    client.receive_buffer_bytes = receive_buffer_bytes;
    auto connection = test::Connection::open(server->port(), client);
    EXPECT_TRUE(connection.has_value());
    return std::move(*connection);
  }
  // What the server answers to these raw bytes on a connection of its own.
  test::Reply reply_to(std::string_view bytes, bool head_request = false) {
    auto connection = connect();
    connection.send(bytes);
    return test::receive_reply(connection, head_request).value_or(test::Reply{});
  }

  ServerOptions options;
  Hooks hooks;
  FunctionHandler handler;
  Happened<Call> calls;
  Happened<AccessRecord> accesses;
  std::unique_ptr<Server> server;
};

}  // namespace takt::http
