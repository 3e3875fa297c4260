#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "http/origin_policy.h"
#include "http/outbox.h"
#include "http/response_head.h"

namespace takt::http {
namespace {

TEST(OriginPolicy, AllowsPagesOfTheOwnMachineAndInstalledApplicationsByDefault) {
  const OriginPolicy policy({"loopback", "app://*"});
  for (const char* origin : {"http://localhost", "https://localhost:3000", "http://127.0.0.1:8080", "http://127.1.2.3",
                             "http://[::1]:5", "app://obsidian.md", "HTTP://LOCALHOST"}) {
    EXPECT_TRUE(policy.allows(origin, "127.0.0.1:8080")) << origin;
  }
  for (const char* origin :
       {"null", "https://evil.example", "http://localhost.evil.example", "http://127.0.0.1.evil.example",
        "http://[::2]", "http://", "localhost", "http://10.0.0.1"}) {
    EXPECT_FALSE(policy.allows(origin, "127.0.0.1:8080")) << origin;
  }
}

TEST(OriginPolicy, AllowsTheServersOwnPagesListedOriginsAndEveryoneWhenToldSo) {
  EXPECT_TRUE(OriginPolicy({}).allows("https://box.example", "box.example"));
  EXPECT_FALSE(OriginPolicy({}).allows("https://box.example:81", "box.example"));
  EXPECT_TRUE(OriginPolicy({"https://a.example"}).allows("https://a.example", "b"));
  EXPECT_FALSE(OriginPolicy({"https://a.example"}).allows("https://a.example.org", "b"));
  EXPECT_TRUE(OriginPolicy({"*"}).allows("null", "b"));
}

TEST(ResponseHead, LeavesOutHeadersThatAreTheServersOrWouldNotFitALine) {
  Response response;
  response.headers = {
      {"X-Good", "1"}, {"Content-Length", "9"}, {"X-Split", "a\r\nSet-Cookie: b"}, {"Bad Name", "1"}, {"", "1"}};
  std::string out;
  append_head(out, response, {.http11 = true, .keep_alive = true}, BodyFraming::kLength, 3);
  EXPECT_NE(out.find("X-Good: 1\r\n"), std::string::npos);
  EXPECT_NE(out.find("Content-Length: 3\r\n"), std::string::npos);
  EXPECT_EQ(out.find("Content-Length: 9"), std::string::npos);
  EXPECT_EQ(out.find("Cookie"), std::string::npos);
  EXPECT_EQ(out.find("Bad Name"), std::string::npos);
  EXPECT_TRUE(out.ends_with("\r\n\r\n"));
}

TEST(ResponseHead, SendsAnImpossibleStatusAs500) {
  std::string out;
  Response response;
  response.status = 20'000;
  append_head(out, response, {}, BodyFraming::kNone, 0);
  EXPECT_TRUE(out.starts_with("HTTP/1.1 500 Internal Server Error\r\n"));
}

struct CountingListener final : OutboxListener {
  int wakes = 0;
  void outbox_changed() override { ++wakes; }
};

struct OutboxTest : ::testing::Test {
  std::shared_ptr<CountingListener> listener = std::make_shared<CountingListener>();
  std::shared_ptr<std::atomic<bool>> draining = std::make_shared<std::atomic<bool>>(false);

  std::shared_ptr<Outbox> make(Framing framing = {.http11 = true, .keep_alive = true}) {
    return std::make_shared<Outbox>(framing, 100, listener, draining);
  }
  static std::string drain(Outbox& outbox) {
    std::string bytes;
    return outbox.take(bytes) == Outbox::Next::kBytes ? bytes : std::string();
  }
};

TEST_F(OutboxTest, GathersChunksWhileAWriteIsUnderWay) {
  auto outbox = make();
  outbox->begin_stream(200, "text/event-stream", {});
  EXPECT_EQ(listener->wakes, 1);
  EXPECT_TRUE(drain(*outbox).ends_with("Transfer-Encoding: chunked\r\n\r\n"));
  outbox->set_in_flight(0);
  outbox->write("hello");
  outbox->write("world, this is");
  EXPECT_EQ(listener->wakes, 1) << "the connection takes more by itself when its write ends";
  EXPECT_EQ(drain(*outbox), "5\r\nhello\r\ne\r\nworld, this is\r\n");
  std::string bytes;
  EXPECT_EQ(outbox->take(bytes), Outbox::Next::kWait);
  outbox->end_stream();
  EXPECT_EQ(listener->wakes, 2);
  EXPECT_EQ(drain(*outbox), "0\r\n\r\n");
  EXPECT_EQ(outbox->take(bytes), Outbox::Next::kEnded);
}

TEST_F(OutboxTest, DoesNothingAfterTheAnswerHasEnded) {
  auto outbox = make();
  outbox->send({});
  const std::size_t queued = outbox->queued_bytes();
  outbox->send({});
  outbox->begin_stream(200, "a", {});
  outbox->write("more");
  outbox->end_stream();
  outbox->abort();
  outbox->on_closed([](Responder::Closed) { FAIL(); });
  EXPECT_EQ(outbox->queued_bytes(), queued);
  outbox->close(Responder::Closed::kClientGone);
}

TEST_F(OutboxTest, OverflowsAndTellsSoWhenItIsClosed) {
  auto outbox = make();
  outbox->begin_stream(200, "a", {});
  drain(*outbox);
  outbox->set_in_flight(0);
  outbox->write(std::string(90, 'x'));
  outbox->write(std::string(90, 'x'));
  std::string bytes;
  EXPECT_EQ(outbox->take(bytes), Outbox::Next::kOverflowed);
  std::vector<Responder::Closed> closed;
  outbox->on_closed([&](Responder::Closed reason) { closed.push_back(reason); });
  EXPECT_TRUE(closed.empty());
  outbox->close(Responder::Closed::kSlowReader);
  outbox->close(Responder::Closed::kClientGone);
  EXPECT_EQ(closed, std::vector{Responder::Closed::kSlowReader});
  outbox->on_closed([&](Responder::Closed reason) { closed.push_back(reason); });
  EXPECT_EQ(closed.size(), 2u) << "told at once when it is already so";
}

TEST_F(OutboxTest, ProbesByBytesThatChangeNoAnswer) {
  for (const bool http11 : {true, false}) {
    auto outbox = make({.http11 = http11});
    const auto after_all_before = [&] {
      outbox->set_in_flight(0);
      return outbox->probe();
    };
    std::string sent;
    while (after_all_before()) sent += drain(*outbox);
    EXPECT_EQ(sent, http11 ? "HTTP/1.1 " : "HTTP/1.0 ") << "what follows is not known yet";
    outbox->begin_stream(200, "a", {});
    EXPECT_FALSE(outbox->probe()) << "queued bytes ask by themselves";
    EXPECT_TRUE(drain(*outbox).starts_with("200 OK\r\n"));
    EXPECT_EQ(after_all_before(), http11) << "a stream without chunks has no spare bytes";
    EXPECT_EQ(drain(*outbox), http11 ? "0" : "");
    EXPECT_FALSE(after_all_before());
    outbox->write("abc");
    EXPECT_EQ(drain(*outbox), http11 ? "3\r\nabc\r\n" : "abc");
  }
}

TEST_F(OutboxTest, AnAnswerThatBeginsWhileDrainingClosesItsConnection) {
  auto outbox = make();
  draining->store(true);
  outbox->send({});
  EXPECT_FALSE(outbox->keep_alive());
  EXPECT_NE(drain(*outbox).find("Connection: close"), std::string::npos);
}

TEST_F(OutboxTest, AResponderDroppedUnansweredAnswersByTheFallback) {
  auto outbox = make();
  const auto fallback = [] {
    Response response;
    response.status = 500;
    return response;
  };
  std::make_unique<Answer>(outbox, fallback).reset();
  EXPECT_TRUE(drain(*outbox).starts_with("HTTP/1.1 500 "));
}

}  // namespace
}  // namespace takt::http
