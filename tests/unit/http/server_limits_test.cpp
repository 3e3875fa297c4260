// What one client can cost: sizes, times, connections (field reports F6, E7).
#include <gtest/gtest.h>

#include <thread>

#include "unit/http/server_fixture.h"

namespace takt::http {
namespace {

using std::chrono::milliseconds;

TEST_F(ServerTest, ErrorBodiesAreTheCallersAndTheConnectionIsClosed) {
  start();
  auto connection = connect();
  connection.send("GET / HTTP/3.0\r\n\r\n");
  const auto reply = test::receive_reply(connection);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 505);
  EXPECT_EQ(reply->header("content-type"), "application/x-test-error");
  EXPECT_EQ(reply->header("connection"), "close");
  EXPECT_NE(reply->body.find("HTTP/1.1"), std::string::npos);
  EXPECT_TRUE(connection.wait_closed());
}

TEST_F(ServerTest, AnEndlessHeaderIsRefusedAndItsSenderStillReadsTheAnswer) {
  start();
  auto connection = connect();
  std::string bytes = "GET / HTTP/1.1\r\nHost: h\r\nA: ";
  bytes += std::string(4'000'000, 'a');
  connection.send(bytes);
  EXPECT_EQ(test::receive_reply(connection)->status, 431);
}

TEST_F(ServerTest, ATooLongBodyIsRefusedAndItsSenderStillReadsTheAnswer) {
  options.request.body_bytes = 1000;
  start();
  const std::string body(4'000'000, 'b');
  EXPECT_EQ(reply_to(test::make_request("POST", "/", body)).status, 413);
  std::string chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 1000; ++i) chunked += "100\r\n" + std::string(256, 'c') + "\r\n";
  EXPECT_EQ(reply_to(chunked).status, 413);
  EXPECT_EQ(calls.size(), 0u);
}

TEST_F(ServerTest, ARequestThatEndsEarlyIsRefused) {
  start();
  for (const char* bytes :
       {"G", "GET / HTTP/1.1\r\nHost:", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"}) {
    auto connection = connect();
    connection.send(bytes);
    connection.half_close();
    const auto reply = test::receive_reply(connection);
    ASSERT_TRUE(reply) << bytes;
    EXPECT_EQ(reply->status, 400);
    EXPECT_TRUE(connection.wait_closed());
  }
  EXPECT_EQ(calls.size(), 0u);
}

TEST_F(ServerTest, ASlowHeaderIsTimedOutWhileItStillTrickles) {
  options.timeouts.header = milliseconds(60);
  start();
  auto connection = connect();
  connection.send("GET / HTTP/1.1\r\nHost: h\r\n");
  std::thread trickle([&] {
    while (connection.send("A: b\r\n") && accesses.size() == 0) std::this_thread::yield();
  });
  const auto record = accesses.next();
  trickle.join();
  ASSERT_TRUE(record);
  EXPECT_TRUE(record->status == 408 || record->status == 431) << record->status;

  auto silent = connect();
  silent.send("GET / HT");
  EXPECT_EQ(test::receive_reply(silent)->status, 408);
}

TEST_F(ServerTest, ABodyThatMakesNoProgressIsTimedOut) {
  options.timeouts.body_progress = milliseconds(60);
  start();
  EXPECT_EQ(reply_to("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc").status, 408);
}

TEST_F(ServerTest, ABodyThatMakesProgressMayTakeManyWindows) {
  options.timeouts.body_progress = milliseconds(20);
  options.timeouts.body_progress_bytes = 0;  // any progress will do, however slow this machine is today
  start();
  auto connection = connect();
  connection.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n");
  const auto began = std::chrono::steady_clock::now();
  std::size_t sent = 0;
  while (std::chrono::steady_clock::now() - began < milliseconds(200) && sent < 900'000) {
    ASSERT_TRUE(connection.send("x"));
    ++sent;
  }
  connection.send(std::string(1'000'000 - sent, 'y'));
  auto call = calls.next();
  ASSERT_TRUE(call);
  EXPECT_EQ(call->request.body.size(), 1'000'000u);
}

TEST_F(ServerTest, IdleConnectionsAreClosedWithoutAWord) {
  options.timeouts.idle = milliseconds(50);
  answer_by_echo();
  start();
  auto fresh = connect();
  EXPECT_EQ(fresh.receive_all(), "");
  EXPECT_EQ(fresh.state(), test::Connection::State::kEnded);
  auto used = connect();
  used.send(test::make_request("GET", "/"));
  EXPECT_TRUE(test::receive_reply(used)->complete);
  EXPECT_EQ(used.receive_all(), "");
  EXPECT_EQ(used.state(), test::Connection::State::kEnded);
}

TEST_F(ServerTest, ASlowReaderOfAStreamIsCutAndTheHandlerIsTold) {
  options.stream_queue_bytes = 20'000;
  options.socket_send_buffer_bytes = 4096;
  start();
  auto connection = connect(4096);
  connection.send(test::make_request("GET", "/stream"));
  auto call = calls.next();
  ASSERT_TRUE(call);
  Happened<Responder::Closed> closed;
  call->responder->on_closed([&](Responder::Closed reason) { closed.push(reason); });
  call->responder->begin_stream(200, "text/plain", {});
  const std::string chunk(1000, 'x');
  std::size_t most = 0;
  for (int i = 0; i < 10'000 && closed.size() == 0; ++i) {
    call->responder->write(chunk);
    most = std::max(most, call->responder->queued_bytes());
  }
  EXPECT_EQ(closed.next(), Responder::Closed::kSlowReader);
  EXPECT_LE(most, options.stream_queue_bytes + 100);
  EXPECT_EQ(accesses.next()->outcome, AccessRecord::Outcome::kSlowReader);
  EXPECT_EQ(call->responder->queued_bytes(), 0u);
}

TEST_F(ServerTest, AReaderThatTakesNothingIsCutByTime) {
  options.timeouts.write_progress = milliseconds(60);
  options.socket_send_buffer_bytes = 4096;
  start();
  auto connection = connect(4096);
  connection.send(test::make_request("GET", "/big"));
  auto call = calls.next();
  ASSERT_TRUE(call);
  Response response;
  response.body = std::string(20'000'000, 'x');
  call->responder->send(response);
  EXPECT_EQ(accesses.next()->outcome, AccessRecord::Outcome::kSlowReader);
}

TEST_F(ServerTest, ConnectionsOverTheLimitsAreToldSo) {
  answer_by_echo();
  options.connections = 3;
  options.connections_per_peer = 2;
  start();
  std::vector<test::Connection> held;
  for (int i = 0; i < 2; ++i) {
    held.push_back(connect());
    held.back().send(test::make_request("GET", "/"));
    ASSERT_TRUE(test::receive_reply(held.back()));
  }
  auto third = connect();
  EXPECT_EQ(test::receive_reply(third)->status, 429);
  third.close();
  held.clear();
  // A place that was given back is there again.
  for (bool served = false; !served;) {
    auto reply = test::request(server->port(), "GET", "/");
    served = reply && reply->status == 200;
  }
}

TEST_F(ServerTest, ConnectionsOverTheWholeLimitAreToldSo) {
  answer_by_echo();
  options.connections = 1;
  start();
  auto held = connect();
  held.send(test::make_request("GET", "/"));
  ASSERT_TRUE(test::receive_reply(held));
  auto second = connect();
  const auto reply = test::receive_reply(second);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 503);
  EXPECT_NE(reply->body.find("limit of 1"), std::string::npos);
}

TEST_F(ServerTest, AThousandIdleConnectionsDoNotKeepANewOneWaiting) {
  answer_by_echo();
  start();
  std::vector<test::Connection> idle;
  for (int i = 0; i < 1000; ++i) {
    auto connection = test::Connection::open(server->port());
    if (!connection) break;  // this process may not have so many descriptors
    idle.push_back(std::move(*connection));
  }
  if (idle.size() < 1000) {
    const std::size_t held = idle.size();
    idle.clear();
    GTEST_SKIP() << "this process may open only about " << held << " connections (ulimit -n)";
  }
  auto& last = idle.back();
  last.send(test::make_request("GET", "/last"));
  EXPECT_EQ(test::receive_reply(last)->body, "GET /last ");
  EXPECT_EQ(server->open_connections(), 1000u);
}

}  // namespace
}  // namespace takt::http
