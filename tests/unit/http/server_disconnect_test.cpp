// Clients that go away, in every phase (field reports B17, B18, B19, F20).
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

#include "unit/http/server_fixture.h"

namespace takt::http {
namespace {

class DisconnectTest : public ServerTest {
 protected:
  // A request that the handler has and that tells when its client goes.
  Call call_with_callback(test::Connection& connection, std::string_view bytes) {
    connection.send(bytes);
    auto call = calls.next();
    if (!call) return {};
    call->responder->on_closed([this](Responder::Closed reason) { closed.push(reason); });
    return std::move(*call);
  }

  Happened<Responder::Closed> closed;
};

TEST_F(DisconnectTest, IsSeenWhileTheAnswerIsComputed) {
  start();
  for (bool by_reset : {false, true}) {
    auto connection = connect();
    const Call call = call_with_callback(connection, test::make_request("POST", "/", "x"));
    const auto began = std::chrono::steady_clock::now();
    by_reset ? connection.reset() : connection.close();
    EXPECT_EQ(closed.next(), Responder::Closed::kClientGone);
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(200)) << "B17";
    EXPECT_EQ(accesses.next()->outcome, AccessRecord::Outcome::kClientGone);
  }
}

TEST_F(DisconnectTest, IsSeenInAStreamThatSendsNothing) {
  start();
  for (bool by_reset : {false, true}) {
    auto connection = connect();
    const Call call = call_with_callback(connection, test::make_request("POST", "/", "x"));
    call.responder->begin_stream(200, "text/event-stream", {});
    ASSERT_TRUE(test::receive_head(connection));
    by_reset ? connection.reset() : connection.close();
    EXPECT_EQ(closed.next(), Responder::Closed::kClientGone);
  }
}

TEST_F(DisconnectTest, IsSeenOverHttp10) {
  start();
  auto connection = connect();
  const Call call = call_with_callback(connection, "GET / HTTP/1.0\r\n\r\n");
  connection.close();
  EXPECT_EQ(closed.next(), Responder::Closed::kClientGone);
}

TEST_F(DisconnectTest, IsSeenBehindUnreadPipelinedRequests) {
  options.read_ahead_bytes = 1000;
  start();
  for (bool by_reset : {false, true}) {
    auto connection = connect();
    const Call call = call_with_callback(
        connection, test::make_request("GET", "/") + test::make_request("POST", "/", std::string(50'000, 'x')));
    by_reset ? connection.reset() : connection.close();
    EXPECT_EQ(closed.next(), Responder::Closed::kClientGone);
  }
}

TEST_F(DisconnectTest, TheCallbackComesAtOnceWhenTheClientHasGoneBefore) {
  start();
  auto connection = connect();
  const Call call = call_with_callback(connection, test::make_request("GET", "/"));
  connection.reset();
  ASSERT_TRUE(closed.next());
  bool told = false;
  call.responder->on_closed([&](Responder::Closed) { told = true; });
  EXPECT_TRUE(told);
}

// A client that closes its sending side after its request gets the answer that it would have got, to the byte.
TEST_F(DisconnectTest, AHalfClosedClientGetsItsWholeAnswer) {
  options.timeouts.half_close_probe = std::chrono::milliseconds(1);
  start();
  for (const char* version : {"HTTP/1.0", "HTTP/1.1"}) {
    auto connection = connect();
    const Call call =
        call_with_callback(connection, "POST / " + std::string(version) + "\r\nHost: h\r\nContent-Length: 1\r\n\r\nx");
    connection.half_close();
    EXPECT_EQ(connection.receive_exactly(9), version + std::string(" ")) << "what every answer begins with, early";
    Response response;
    response.body = "served";
    call.responder->send(response);
    const std::string rest = connection.receive_all();
    EXPECT_TRUE(rest.starts_with("200 OK\r\n")) << rest;
    EXPECT_TRUE(rest.ends_with("\r\n\r\nserved")) << rest;
    EXPECT_EQ(connection.state(), test::Connection::State::kEnded);
  }
  EXPECT_EQ(closed.size(), 0u);
}

TEST_F(DisconnectTest, AHalfClosedClientGetsItsWholeStream) {
  start();
  for (const char* version : {"1.0", "1.1"}) {
    auto connection = connect();
    const Call call = call_with_callback(connection, "GET / HTTP/" + std::string(version) + "\r\nHost: h\r\n\r\n");
    connection.half_close();
    EXPECT_EQ(connection.receive_exactly(1), "H");
    call.responder->begin_stream(200, "text/plain", {});
    call.responder->write("abc");
    call.responder->write("def");
    call.responder->end_stream();
    const std::string rest = connection.receive_all();
    EXPECT_TRUE(rest.starts_with("TTP/" + std::string(version) + " 200 OK\r\n")) << rest;
    const bool chunked = rest.find("Transfer-Encoding: chunked") != std::string::npos;
    EXPECT_TRUE(rest.ends_with(chunked ? "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n" : "\r\n\r\nabcdef")) << rest;
    EXPECT_EQ(connection.state(), test::Connection::State::kEnded);
  }
  EXPECT_EQ(closed.size(), 0u);
}

TEST_F(DisconnectTest, AClientThatHalfClosesInsideItsStreamGetsTheRest) {
  start();
  auto connection = connect();
  const Call call = call_with_callback(connection, test::make_request("POST", "/", "x"));
  call.responder->begin_stream(200, "text/plain", {});
  ASSERT_TRUE(test::receive_head(connection));
  connection.half_close();
  EXPECT_EQ(connection.receive_exactly(1), "0") << "asked whether it still reads";
  call.responder->write("abc");
  EXPECT_EQ(connection.receive_until("abc\r\n"), "3\r\nabc\r\n");
  call.responder->end_stream();
  EXPECT_EQ(connection.receive_all(), "0\r\n\r\n");
  EXPECT_EQ(closed.size(), 0u);
}

TEST_F(DisconnectTest, AHalfClosedClientThatGoesLaterIsSeen) {
  options.timeouts.half_close_probe = std::chrono::milliseconds(30);
  start();
  for (const char* version : {"1.0", "1.1"}) {
    auto connection = connect();
    const Call call = call_with_callback(connection, "GET / HTTP/" + std::string(version) + "\r\nHost: h\r\n\r\n");
    connection.half_close();
    ASSERT_EQ(connection.receive_exactly(1), "H");
    connection.close();
    EXPECT_EQ(closed.next(), Responder::Closed::kClientGone);
  }
}

// Field report F20: 10k random-time disconnects, run under the sanitizers too. B19: after the storm nothing is left and
// a probe is answered.
TEST_F(DisconnectTest, TenThousandAtRandomTimesLeaveNothingBehind) {
  constexpr int kThreads = 4;
  constexpr int kPerThread = 2500;
  options.threads = 2;
  options.timeouts.linger = std::chrono::milliseconds(500);
  std::atomic<int> handled{0}, held{0}, gone_while_held{0}, recorded{0};
  Happened<std::shared_ptr<Responder>> work, never_answered;
  handler.function = [&](Request request, std::shared_ptr<Responder> responder) {
    ++handled;
    const bool holds = request.path == "/held";
    responder->on_closed([&, holds](Responder::Closed) { gone_while_held += holds ? 1 : 0; });
    if (request.path == "/now") return responder->send({});
    if (holds) {
      ++held;
      return never_answered.push(std::move(responder));
    }
    work.push(std::move(responder));
  };
  hooks.on_access = [&](const AccessRecord&) { ++recorded; };
  start();
  std::vector<std::thread> workers;
  for (int i = 0; i < 2; ++i) {
    workers.emplace_back([&] {
      while (auto responder = work.next()) {
        if (*responder == nullptr) return;
        (*responder)->begin_stream(200, "text/event-stream", {});
        for (int chunk = 0; chunk < 5; ++chunk) (*responder)->write("data: some tokens\n\n");
        (*responder)->end_stream();
      }
    });
  }
  std::vector<std::thread> clients;
  for (int i = 0; i < kThreads; ++i) {
    clients.emplace_back([&, i] {
      std::mt19937 random(static_cast<unsigned>(i));
      for (int n = 0; n < kPerThread; ++n) {
        test::Connection::Options client;
        client.patience = std::chrono::milliseconds(random() % 3);  // half a request gets no answer
        auto connection = test::Connection::open(server->port(), client);
        if (!connection) continue;
        const char* path = n % 50 == 0 ? "/held" : random() % 4 == 0 ? "/now" : "/stream";
        const std::string bytes = test::make_request("POST", path, "some body");
        connection->send(std::string_view(bytes).substr(0, random() % 3 == 0 ? random() % bytes.size() : bytes.size()));
        switch (random() % 4) {
          case 0:
            break;
          case 1:
            std::this_thread::yield();
            break;
          case 2:
            connection->half_close();
            break;
          default:
            connection->receive(random() % 400 + 1);
            break;
        }
        random() % 2 == 0 ? connection->reset() : connection->close();
      }
    });
  }
  for (auto& client : clients) client.join();
  // Connections are accepted in order: when this one is answered, all of the storm are known to the server.
  const auto probe = test::request(server->port(), "GET", "/now");
  EXPECT_EQ(probe.value_or(test::Reply{}).status, 200);
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (server->open_connections() > 0 && std::chrono::steady_clock::now() < give_up) std::this_thread::yield();
  EXPECT_EQ(server->open_connections(), 0u);
  for (std::size_t i = 0; i < workers.size(); ++i) work.push(nullptr);
  for (auto& worker : workers) worker.join();
  EXPECT_EQ(server->requests_in_progress(), 0u);
  EXPECT_GT(handled.load(), kThreads * kPerThread / 4);
  EXPECT_GT(held.load(), 0);
  EXPECT_EQ(gone_while_held.load(), held.load());
  EXPECT_GE(recorded.load(), handled.load());
}

}  // namespace
}  // namespace takt::http
