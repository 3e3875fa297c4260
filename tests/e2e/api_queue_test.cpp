// What a client learns of the queue, over real sockets.
#include <gtest/gtest.h>

#include "e2e/api_call.h"
#include "e2e/fake_server.h"

namespace takt::test {
namespace {

constexpr std::string_view kPath = "/v1/chat/completions";

FakeServerSettings one_seat() {
  FakeServerSettings settings = script("length=100000,step_ms=2,context=8192,blocks=600");
  settings.engine.sched.max_sequences = 1;
  settings.engine.realtime.max_waiting = 1;
  settings.serve.keep_alive = std::chrono::milliseconds(60);
  return settings;
}

// DESIGN 9, H10, D10: comments with the place in the queue come as long as it waits, then the answer.
TEST(ApiQueue, AnEarlyStatusTellsThePlaceWhileTheOnlySeatIsTaken) {
  const auto server = FakeServer::start(one_seat());
  ASSERT_NE(server, nullptr);
  auto running = Stream::open(server->port(), chat_json("x", R"("stream":true,"max_tokens":100000)"));
  ASSERT_TRUE(running);
  ASSERT_FALSE(running->first_data().empty());

  auto connection = Connection::open(server->port());
  ASSERT_TRUE(connection);
  connection->send(
      make_request("POST", kPath, chat_json("y", R"("stream":true,"max_tokens":2)"), "x-takt-early-status: 1\r\n"));
  const auto head = receive_head(*connection);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 200);
  BodyReader body(*connection, *head);
  EventReader events(body);
  for (int i = 0; i < 4; ++i) {
    const auto event = events.next();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->comment, "queue position 1") << "no time before a request has ended" << event->data;
  }
  running->connection().reset();
  std::string last;
  while (const auto event = events.next()) last = event->data.empty() ? last : event->data;
  EXPECT_EQ(last, "[DONE]");
  EXPECT_TRUE(body.complete());
}

// A18
TEST(ApiQueue, ARefusalSaysWhenToComeBack) {
  const auto server = FakeServer::start(one_seat());
  ASSERT_NE(server, nullptr);
  std::vector<Stream> clients;
  for (std::uint32_t i = 0; i < 2; ++i) {
    auto client = Stream::open(server->port(), chat_json("x", R"("stream":true,"max_tokens":100000)"));
    ASSERT_TRUE(client);
    clients.push_back(std::move(*client));
    ASSERT_TRUE(eventually([&] {
      const EngineStatus status = server->engine().status();
      return status.running + status.waiting == i + 1;
    }));
  }
  const auto refused = call_chat(server->port(), "x");
  ASSERT_TRUE(refused);
  EXPECT_EQ(error_code_of(*refused), "queue_full");
  const int seconds = std::stoi(refused->header("retry-after"));
  EXPECT_GE(seconds, 1);
  EXPECT_LE(seconds, 60);
}

}  // namespace
}  // namespace takt::test
