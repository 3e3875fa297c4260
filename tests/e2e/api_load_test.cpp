// Clients that leave, storms, full queues, and the end of the server.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "e2e/api_call.h"
#include "e2e/fake_server.h"

namespace takt::test {
namespace {

constexpr std::string_view kLong = R"("max_tokens":100000)";

// A server whose answers last as long as a client waits for them.
FakeServerSettings endless() {
  return script("length=100000,step_ms=2,context=8192,blocks=600");
}

std::string endless_chat(bool stream, std::string_view content = "x") {
  return chat_json(content, std::string(kLong) + (stream ? R"(,"stream":true)" : ""));
}

// B17: queued, prefill, decode, and without a stream; the fifth case, behind a proxy, is a reset like these for the
// server.
TEST(ApiCancel, ClientsThatLeaveFreeEverythingInEveryPhase) {
  FakeServerSettings settings = endless();
  settings.engine.sched.max_sequences = 1;
  const auto server = FakeServer::start(std::move(settings));
  ASSERT_NE(server, nullptr);

  for (const bool stream : {true, false}) {
    auto running = Stream::open(server->port(), endless_chat(stream));
    ASSERT_TRUE(running);
    ASSERT_TRUE(eventually([&] { return server->engine().status().running == 1; }));
    auto queued = Stream::open(server->port(), endless_chat(stream));
    ASSERT_TRUE(queued);
    ASSERT_TRUE(eventually([&] { return server->engine().status().waiting == 1; }));
    queued->connection().close();
    EXPECT_TRUE(eventually([&] { return server->engine().status().waiting == 0; }));
    if (stream) {
      EXPECT_FALSE(running->first_data().empty());
    }
    EXPECT_EQ(server->engine().status().running, 1u);
    running->connection().reset();
    EXPECT_TRUE(server->wait_free());
  }
  EXPECT_TRUE(server->handler().wait_until_idle(std::chrono::seconds(20)));
}

TEST(ApiCancel, APromptBeingReadIsGivenUpToo) {
  const auto server = FakeServer::start(script("length=100,token_us=300,context=8192,blocks=600"));
  ASSERT_NE(server, nullptr);
  auto stream = Stream::open(server->port(), endless_chat(true, std::string(6000, 'p')));
  ASSERT_TRUE(stream);
  ASSERT_TRUE(eventually([&] { return server->engine().status().running == 1; }));
  stream->connection().reset();
  EXPECT_TRUE(server->wait_free());
}

// B19
// Answers are as long as the context, so that none is over before it is looked for, however late that is.
TEST(ApiCancel, ThreeStormsLeaveAProbesAnswerUnchanged) {
  const auto server = FakeServer::start(script("length=100000,step_ms=1,context=8192,blocks=600"));
  ASSERT_NE(server, nullptr);
  const auto probe = [&] {
    return content_of(*call_chat(server->port(), "probe", R"("temperature":0,"max_tokens":50)"));
  };
  const std::string before = probe();
  for (int storm = 0; storm < 3; ++storm) {
    std::vector<Stream> clients;
    for (int i = 0; i < 60; ++i) {
      auto client =
          Stream::open(server->port(), chat_json("storm " + std::to_string(i), i % 2 == 0 ? R"("stream":true)" : ""));
      ASSERT_TRUE(client);
      clients.push_back(std::move(*client));
    }
    ASSERT_TRUE(eventually([&] { return server->engine().status().running > 0; }));
    for (Stream& client : clients) client.connection().reset();
    clients.clear();
    EXPECT_TRUE(server->wait_free());
    EXPECT_EQ(server->engine().status().waiting, 0u);
    EXPECT_EQ(probe(), before);
  }
}

// A17, A18: exactly seats + queue are taken, the rest is told when to come back.
TEST(ApiOverload, ExactlySeatsAndQueueAreAccepted) {
  FakeServerSettings settings = endless();
  settings.engine.sched.max_sequences = 2;
  settings.engine.realtime.max_waiting = 3;
  const auto server = FakeServer::start(std::move(settings));
  ASSERT_NE(server, nullptr);
  std::vector<Stream> clients;
  for (int i = 0; i < 5; ++i) {
    auto client = Stream::open(server->port(), endless_chat(true));
    ASSERT_TRUE(client);
    clients.push_back(std::move(*client));
    ASSERT_TRUE(eventually([&] {
      const EngineStatus status = server->engine().status();
      return status.running + status.waiting == static_cast<std::uint32_t>(i + 1);
    }));
  }
  for (int i = 0; i < 4; ++i) {
    const auto refused = call_chat(server->port(), "x");
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 503);
    EXPECT_NE(refused->header("retry-after"), "");
    EXPECT_NE(error_code_of(*refused), "");
  }
  EXPECT_EQ(server->engine().status().running, 2u);
  EXPECT_EQ(server->engine().status().waiting, 3u);
  clients.clear();
  EXPECT_TRUE(server->wait_free());
}

// A2: while prompts are read, the control endpoints answer.
TEST(ApiOverload, HealthAnswersWhileEverythingIsBusy) {
  const auto server = FakeServer::start(script("length=10,token_us=500,context=8192,blocks=600"));
  ASSERT_NE(server, nullptr);
  auto busy = Stream::open(server->port(), chat_json(std::string(6000, 'p')));
  ASSERT_TRUE(eventually([&] { return server->engine().status().running == 1; }));
  for (const char* path : {"/health", "/ready", "/v1/models", "/metrics"}) {
    const auto begin = std::chrono::steady_clock::now();
    const auto reply = request(server->port(), "GET", path);
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 200) << path << reply->body;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2)) << path;
  }
  EXPECT_EQ(server->engine().status().running, 1u) << "the prompt was still being read all the while";
}

// A2: with the engine thread inside a step that does not end, everything that needs no step is answered.
TEST(ApiOverload, WhatNeedsNoStepIsAnsweredWhileTheEngineThreadStandsStill) {
  std::mutex mutex;
  std::condition_variable changed;
  bool closed = false;
  bool inside = false;
  FakeServerSettings settings = script("length=4,context=1024,blocks=64");
  settings.spend = [&](Duration) {
    std::unique_lock lock(mutex);
    inside = closed;
    changed.notify_all();
    changed.wait(lock, [&] { return !closed; });
  };
  const auto server = FakeServer::start(std::move(settings));
  ASSERT_NE(server, nullptr);
  {
    const std::lock_guard lock(mutex);
    closed = true;
  }
  auto stuck = Stream::open(server->port(), chat_json("x", R"("stream":true)"));
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return inside; });
  }
  for (const char* path : {"/health", "/ready", "/v1/models", "/metrics"}) {
    const auto reply = request(server->port(), "GET", path);
    ASSERT_TRUE(reply) << path;
    EXPECT_EQ(reply->status, 200) << path << reply->body;
  }
  const std::string text = R"({"text":")" + std::string(100000, 'x') + "\"}";
  const auto tokens = request(server->port(), "POST", "/v1/tokenize", text);
  ASSERT_TRUE(tokens);
  EXPECT_EQ(tokens->status, 200);
  EXPECT_EQ(call_chat(server->port(), "x", R"("temperature":"hot")")->status, 400);
  EXPECT_EQ(call_chat(server->port(), std::string(5000, 'p'))->status, 400) << "longer than the context";
  {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(inside && closed) << "no step ended meanwhile";
    closed = false;
    changed.notify_all();
  }
  EXPECT_FALSE(stuck->events().empty());
}

// E7: megabytes that are tokenised are the text workers' business, and theirs alone.
TEST(ApiOverload, HealthAnswersWhileBigBodiesAreTokenised) {
  FakeServerSettings settings = script("length=4,context=1024,blocks=64");
  settings.serve.text_threads = 1;
  const auto server = FakeServer::start(std::move(settings));
  ASSERT_NE(server, nullptr);
  const std::string body = R"({"text":")" + std::string(std::size_t{1} << 20U, 'x') + "\"}";
  std::atomic<int> ended{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      const auto reply = request(server->port(), "POST", "/v1/tokenize", body);
      EXPECT_TRUE(reply && reply->status == 200);
      ++ended;
    });
  }
  int answered = 0;
  while (ended.load() < 4) {
    const auto begin = std::chrono::steady_clock::now();
    const auto reply = request(server->port(), "GET", "/health");
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 200);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
    if (ended.load() < 4) ++answered;
  }
  for (std::thread& client : clients) client.join();
  EXPECT_GT(answered, 3);
}

// F17
TEST(ApiDrain, RunningAnswersFinishAndNewOnesAreRefused) {
  const auto server = FakeServer::start(script("text=finished in peace,step_ms=10"));
  ASSERT_NE(server, nullptr);
  auto running = Stream::open(server->port(), chat_json("x", R"("stream":true)"));
  ASSERT_TRUE(running && running->head());
  server->handler().begin_drain();
  server->engine().begin_drain(std::chrono::steady_clock::now() + std::chrono::seconds(60));
  const auto refused = call_chat(server->port(), "y");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(error_code_of(*refused), "draining");
  EXPECT_EQ(request(server->port(), "GET", "/ready")->status, 503);
  EXPECT_EQ(streamed_text(running->events()), "finished in peace");
  EXPECT_TRUE(running->complete());
  EXPECT_TRUE(server->handler().wait_until_idle(std::chrono::seconds(20)));
}

// F17: what is not finished by then ends with an error event.
TEST(ApiDrain, TheDeadlineEndsTheRestWithAnError) {
  const auto server = FakeServer::start(endless());
  ASSERT_NE(server, nullptr);
  auto stream = Stream::open(server->port(), endless_chat(true));
  auto whole = Stream::open(server->port(), endless_chat(false));
  ASSERT_TRUE(stream && whole && stream->head());
  ASSERT_TRUE(eventually([&] { return server->engine().status().running == 2; }));
  server->handler().begin_drain();
  server->engine().begin_drain(std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
  const auto events = stream->events();
  ASSERT_FALSE(events.empty());
  EXPECT_TRUE(events.back().data.starts_with(R"({"error":)")) << events.back().data;
  EXPECT_FALSE(stream->complete());
  ASSERT_TRUE(whole->head());
  EXPECT_EQ(whole->head()->status, 503);
  EXPECT_TRUE(server->wait_free());
}

// D10 over the wire.
TEST(ApiKeepAlive, ASilentStreamSendsComments) {
  FakeServerSettings settings = script("length=3,step_ms=1,fail_step=3,fail=stall,stall_ms=400");
  settings.serve.keep_alive = std::chrono::milliseconds(60);
  const auto server = FakeServer::start(std::move(settings));
  ASSERT_NE(server, nullptr);
  auto stream = Stream::open(server->port(), chat_json("x", R"("stream":true)"));
  ASSERT_TRUE(stream);
  const auto events = stream->events();
  EXPECT_TRUE(stream->complete());
  const auto comments =
      std::count_if(events.begin(), events.end(), [](const auto& event) { return event.comment == "keep-alive"; });
  EXPECT_GE(comments, 2) << "400 ms of silence, a comment at least every 60 ms and a tick of 50";
  EXPECT_EQ(events.back().data, "[DONE]");
}

}  // namespace
}  // namespace takt::test
