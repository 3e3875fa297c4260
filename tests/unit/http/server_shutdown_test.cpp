// Drain and stop (field report F17).
#include <gtest/gtest.h>

#include <thread>

#include "unit/http/server_fixture.h"

namespace takt::http {
namespace {

TEST_F(ServerTest, DrainingFinishesWhatRunsAndTakesNothingNew) {
  start();
  auto idle = connect();
  auto busy = connect();
  busy.send(test::make_request("POST", "/", "x"));
  auto call = calls.next();
  ASSERT_TRUE(call);
  call->responder->begin_stream(200, "text/plain", {});
  server->stop_accepting();
  EXPECT_FALSE(test::Connection::open(server->port()));
  EXPECT_TRUE(idle.wait_closed());
  EXPECT_FALSE(server->wait_idle(std::chrono::milliseconds(20)));
  EXPECT_EQ(server->requests_in_progress(), 1u);
  call->responder->write("the rest");
  call->responder->end_stream();
  EXPECT_TRUE(server->wait_idle(kPatience));
  const auto reply = test::receive_reply(busy);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, "the rest");
  EXPECT_TRUE(reply->complete);
  EXPECT_TRUE(busy.wait_closed());
}

TEST_F(ServerTest, AnAnswerThatBeginsWhileDrainingSaysThatItCloses) {
  start();
  auto connection = connect();
  connection.send(test::make_request("GET", "/"));
  auto call = calls.next();
  ASSERT_TRUE(call);
  server->stop_accepting();
  call->responder->send({});
  const auto reply = test::receive_reply(connection);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->header("connection"), "close");
  EXPECT_TRUE(connection.wait_closed());
}

// An answer that ends its connection is with the system when it is written, and still on its way.
TEST_F(ServerTest, StoppingLosesNoByteOfAnAnswerThatIsWholeButNotYetRead) {
  start();
  test::Connection::Options slow;
  slow.receive_buffer_bytes = 4096;
  auto connection = test::Connection::open(server->port(), slow);
  ASSERT_TRUE(connection);
  connection->send("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  auto call = calls.next();
  ASSERT_TRUE(call);
  Response response;
  response.body = std::string(200'000, 'x');
  call->responder->send(std::move(response));
  ASSERT_TRUE(server->wait_idle(kPatience));
  server->stop();
  const auto reply = test::receive_reply(*connection);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body.size(), 200'000u);
  EXPECT_TRUE(reply->complete);
}

TEST_F(ServerTest, StoppingEndsStreamsAtOnceAndTellsTheirHandlers) {
  start();
  std::vector<test::Connection> connections;
  Happened<Responder::Closed> closed;
  std::vector<std::shared_ptr<Responder>> responders;
  for (int i = 0; i < 10; ++i) {
    connections.push_back(connect());
    connections.back().send(test::make_request("GET", "/"));
    auto call = calls.next();
    ASSERT_TRUE(call);
    call->responder->on_closed([&](Responder::Closed reason) { closed.push(reason); });
    call->responder->begin_stream(200, "text/plain", {});
    responders.push_back(call->responder);
  }
  server->stop();
  EXPECT_EQ(closed.size(), 10u) << "all are told before stop returns";
  for (auto& connection : connections) EXPECT_TRUE(connection.wait_closed());
  EXPECT_EQ(server->open_connections(), 0u);
  server->stop();
}

TEST_F(ServerTest, StoppingWhileOthersAnswerAndConnectIsSafe) {
  options.threads = 2;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> answering;
    std::mutex mutex;
    handler.function = [&](Request, std::shared_ptr<Responder> responder) {
      std::lock_guard lock(mutex);
      answering.emplace_back([responder = std::move(responder)] {
        responder->begin_stream(200, "text/plain", {});
        for (int i = 0; i < 50; ++i) responder->write("chunk");
        responder->end_stream();
      });
    };
    start();
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i) {
      clients.emplace_back([port = server->port()] {
        while (test::request(port, "GET", "/")) {
        }
      });
    }
    while (server->requests_in_progress() == 0) std::this_thread::yield();
    server->stop();
    for (auto& client : clients) client.join();
    for (auto& thread : answering) thread.join();
    EXPECT_EQ(server->open_connections(), 0u);
  }
}

}  // namespace
}  // namespace takt::http
