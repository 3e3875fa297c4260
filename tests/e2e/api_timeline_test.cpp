// What a client and an administrator learn of a request's life, over real sockets.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "e2e/api_call.h"
#include "e2e/fake_server.h"

namespace takt::test {
namespace {

namespace json = boost::json;

FakeServerSettings administered(std::string text) {
  FakeServerSettings settings = script(std::move(text));
  settings.serve.local_admin = true;
  return settings;
}

json::object look_up(const FakeServer& server, const std::string& id) {
  const auto reply = request(server.port(), "GET", "/admin/requests/" + id, {});
  EXPECT_TRUE(reply);
  if (!reply || reply->status != 200) return {};
  return json::parse(reply->body).as_object();
}

// Its last byte reaches the client before its end is written down.
json::object look_up_ended(const FakeServer& server, const std::string& id) {
  json::object timeline;
  EXPECT_TRUE(eventually([&] {
    timeline = look_up(server, id);
    return timeline.contains("state") && timeline.at("state") == "ended";
  }));
  return timeline;
}

std::vector<std::string> states(const json::object& timeline) {
  std::vector<std::string> names;
  for (const auto& span : timeline.at("spans").as_array()) names.emplace_back(span.at("state").as_string());
  return names;
}

TEST(ApiTimeline, AWholeAnswerSaysWhereItsTimeWentAndItsLifeCanBeLookedUp) {
  const auto server = FakeServer::start(administered("length=8,step_ms=1"));
  ASSERT_NE(server, nullptr);
  const auto reply = call_chat(server->port(), "hello");
  ASSERT_TRUE(reply);
  const std::string id = reply->header("x-request-id");
  const std::string timing = reply->header("x-takt-timing");
  EXPECT_TRUE(timing.starts_with("request=" + id + ", preparing=")) << timing;
  for (const char* part :
       {", queue=", ", prefill=", ", decode=", ", ttft=", ", total=", ", cached_tokens=", ", preemptions=0"})
    EXPECT_NE(timing.find(part), std::string::npos) << timing;
  const json::object timeline = look_up_ended(*server, id);
  ASSERT_TRUE(timeline.contains("outcome"));
  EXPECT_EQ(timeline.at("outcome"), "answered");
  EXPECT_EQ(timeline.at("output_tokens").to_number<int>(), 8);
  EXPECT_EQ(states(timeline), (std::vector<std::string>{"preparing", "queued", "prefill", "decode", "sending"}));
  // One definition of the time in the queue: the answer's, the timeline's, and that of its span.
  const json::object answer = json::parse(reply->body).as_object();
  const json::object& times = answer.at("takt").as_object();
  const double queued = timeline.at("seconds_by_state").at("queued").to_number<double>();
  EXPECT_NEAR(times.at("queue_seconds").to_number<double>(), queued, 1e-6);
  EXPECT_NEAR(timeline.at("queue_seconds").to_number<double>(), queued, 1e-6);
  double parts = 0.0;
  for (const char* part : {"preparing_seconds", "queue_seconds", "prefill_seconds", "decode_seconds"})
    parts += times.at(part).to_number<double>();
  EXPECT_NEAR(times.at("total_seconds").to_number<double>(), parts, 1e-6);
}

TEST(ApiTimeline, AStreamsLastChunkHasTheSame) {
  const auto server = FakeServer::start(administered("length=8,step_ms=1"));
  ASSERT_NE(server, nullptr);
  auto stream =
      Stream::open(server->port(), chat_json("x", R"("stream":true,"stream_options":{"include_usage":true})"));
  ASSERT_TRUE(stream);
  const auto events = stream->events();
  ASSERT_GE(events.size(), 2u);
  const auto usage = json::parse(events[events.size() - 2].data).as_object();
  const json::object& times = usage.at("takt").as_object();
  EXPECT_EQ(times.at("request").as_string(), stream->head()->header("x-request-id"));
  for (const char* field : {"queue_seconds", "prefill_seconds", "decode_seconds", "total_seconds"})
    EXPECT_GE(times.at(field).to_number<double>(), 0.0) << field;
  EXPECT_GT(times.at("decode_seconds").to_number<double>(), 0.006);
}

// H10: who waits can be asked about, and is told its place, its start and what it waits for.
TEST(ApiTimeline, AWaitingRequestHasAPlaceAndThenAReasonForItsWait) {
  FakeServerSettings settings = administered("length=100000,step_ms=2,context=8192,blocks=600");
  settings.engine.sched.max_sequences = 1;
  const auto server = FakeServer::start(std::move(settings));
  ASSERT_NE(server, nullptr);
  ASSERT_TRUE(request(server->port(), "POST", "/v1/chat/completions", chat_json("x", R"("max_tokens":2)")));
  auto running = Stream::open(server->port(), chat_json("x", R"("stream":true,"max_tokens":100000)"));
  ASSERT_TRUE(running);
  ASSERT_FALSE(running->first_data().empty());
  auto waiting = Connection::open(server->port());
  ASSERT_TRUE(waiting);
  waiting->send(make_request("POST", "/v1/chat/completions", chat_json("y", R"("stream":true,"max_tokens":2)"),
                             "x-takt-early-status: 1\r\n"));
  const auto head = receive_head(*waiting);
  ASSERT_TRUE(head);
  const std::string id = head->header("x-request-id");
  json::object timeline;
  ASSERT_TRUE(eventually([&] {
    timeline = look_up(*server, id);
    return timeline.contains("queue");
  }));
  EXPECT_EQ(timeline.at("state"), "queued");
  EXPECT_EQ(timeline.at("queue").at("position").to_number<int>(), 1);
  EXPECT_GT(timeline.at("queue").at("starts_in_seconds").to_number<double>(), 0.0);
  // The answer before it took some milliseconds too: the running one is the slowest as soon as it has run for longer.
  EXPECT_TRUE(eventually([&] {
    const auto slowest = request(server->port(), "GET", "/admin/requests?slowest=1", {});
    return slowest && json::parse(slowest->body).at("requests").at(0).at("id").as_string() ==
                          running->head()->header("x-request-id");
  }));

  running->connection().reset();
  BodyReader body(*waiting, *head);
  EventReader events(body);
  while (events.next()) {
  }
  timeline = look_up_ended(*server, id);
  ASSERT_TRUE(timeline.contains("spans"));
  const auto& queued = timeline.at("spans").at(1);
  EXPECT_EQ(queued.at("state"), "queued");
  EXPECT_GT(queued.at("waited_seconds").at("seat").to_number<double>(), 0.0) << json::serialize(timeline);
}

}  // namespace
}  // namespace takt::test
