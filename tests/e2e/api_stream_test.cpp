// Answers over real sockets: transcripts, neighbours, failures, bad input.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "e2e/api_call.h"
#include "e2e/fake_server.h"
#include "serve/endpoints.h"

namespace takt::test {
namespace {

// D1, D2
TEST(ApiStream, HasItsGoldenTranscript) {
  const auto server = FakeServer::start(script("text=Hi,step_ms=5"));
  ASSERT_NE(server, nullptr);
  auto stream =
      Stream::open(server->port(), chat_json("x", R"("stream":true,"seed":1,"stream_options":{"include_usage":true})"));
  ASSERT_TRUE(stream && stream->head());
  EXPECT_EQ(stream->head()->status, 200);
  const std::string name = stream->head()->header("x-request-id");
  const std::string start = R"({"id":"chatcmpl-)" + name +
                            R"(","object":"chat.completion.chunk","created":1700000000,"model":"fake","choices":[)";
  const auto events = stream->events();
  EXPECT_TRUE(stream->complete());
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(
      events[0].data,
      start +
          R"({"index":0,"delta":{"role":"assistant","content":"H"},"logprobs":null,"finish_reason":null}],"usage":null})");
  EXPECT_EQ(events[1].data,
            start + R"({"index":0,"delta":{"content":"i"},"logprobs":null,"finish_reason":null}],"usage":null})");
  EXPECT_EQ(events[2].data, start + R"({"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null})");
  EXPECT_TRUE(events[3].data.starts_with(start + R"(],"usage":{"prompt_tokens":)")) << events[3].data;
  EXPECT_EQ(events[4].data, "[DONE]");
}

TEST(ApiStream, AndWholeAnswerHoldTheSameText) {
  const auto server = FakeServer::start(script("length=40"));
  ASSERT_NE(server, nullptr);
  auto stream = Stream::open(server->port(), chat_json("same", R"("stream":true,"temperature":0)"));
  const auto whole = call_chat(server->port(), "same", R"("temperature":0)");
  ASSERT_TRUE(stream && whole);
  EXPECT_EQ(streamed_text(stream->events()), content_of(*whole));
  EXPECT_EQ(content_of(*whole).size(), 40u);
}

// B15 at this level: sixteen neighbours, each with the answer that it gets alone.
TEST(ApiStream, SixteenCanariesGetTheirOwnAnswers) {
  const auto server = FakeServer::start(script("length=60,step_us=500"));
  ASSERT_NE(server, nullptr);
  const auto ask = [&](int i) {
    return content_of(*call_chat(server->port(), "canary " + std::to_string(i), R"("temperature":0)"));
  };
  std::vector<std::string> alone, together(16);
  for (int i = 0; i < 16; ++i) alone.push_back(ask(i));
  EXPECT_EQ(std::set<std::string>(alone.begin(), alone.end()).size(), 16u);
  std::vector<std::thread> clients;
  for (int i = 0; i < 16; ++i) clients.emplace_back([&, i] { together[static_cast<std::size_t>(i)] = ask(i); });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(together, alone);
}

// D7
TEST(ApiStream, AnErrorInTheFirstStepIsNeverAnEmptySuccess) {
  const auto server = FakeServer::start(script("length=8,fail_step=1,fail=always"));
  ASSERT_NE(server, nullptr);
  for (const bool streaming : {true, false}) {
    auto stream = Stream::open(server->port(), chat_json("x", streaming ? R"("stream":true)" : ""));
    ASSERT_TRUE(stream && stream->head());
    if (stream->head()->status != 200) {
      EXPECT_GE(stream->head()->status, 500);
      continue;
    }
    const auto events = stream->events();
    ASSERT_FALSE(events.empty());
    EXPECT_TRUE(events.back().data.starts_with(R"({"error":)")) << events.back().data;
    EXPECT_FALSE(stream->complete());
  }
}

// D7: a failure in the middle.
TEST(ApiStream, AnErrorLaterIsAnEventWithoutACleanEnd) {
  const auto server = FakeServer::start(script("length=50,step_ms=2,fail_step=8,fail=always"));
  ASSERT_NE(server, nullptr);
  auto stream = Stream::open(server->port(), chat_json("x", R"("stream":true)"));
  ASSERT_TRUE(stream && stream->head());
  ASSERT_EQ(stream->head()->status, 200);
  const auto events = stream->events();
  ASSERT_GE(events.size(), 2u);
  EXPECT_TRUE(events.back().data.starts_with(R"({"error":)")) << events.back().data;
  for (const auto& event : events) EXPECT_EQ(event.data.find("\"finish_reason\":\""), std::string::npos);
  EXPECT_FALSE(stream->complete());
}

// D11
TEST(ApiStream, EightChoicesArriveTenTimes) {
  const auto server = FakeServer::start(script("length=5"));
  ASSERT_NE(server, nullptr);
  for (int i = 0; i < 10; ++i) {
    const auto reply = call_chat(server->port(), "x", R"("n":8,"seed":4)");
    ASSERT_TRUE(reply);
    const auto body = boost::json::parse(reply->body).as_object();
    ASSERT_EQ(body.at("choices").as_array().size(), 8u);
    std::set<std::string> texts;
    for (const auto& choice : body.at("choices").as_array())
      texts.insert(std::string(choice.at("message").at("content").as_string()));
    EXPECT_GT(texts.size(), 1u);
    EXPECT_EQ(body.at("usage").at("completion_tokens"), 40);
  }
}

// A21: one seat, several at once: each gets a complete answer.
TEST(ApiStream, OneSeatServesAllThatWait) {
  FakeServerSettings settings = script("text=complete answer");
  settings.engine.sched.max_sequences = 1;
  const auto server = FakeServer::start(std::move(settings));
  ASSERT_NE(server, nullptr);
  std::vector<std::string> answers(10);
  std::vector<std::thread> clients;
  for (std::size_t i = 0; i < answers.size(); ++i)
    clients.emplace_back([&, i] { answers[i] = content_of(*call_chat(server->port(), "x")); });
  for (std::thread& client : clients) client.join();
  for (const std::string& answer : answers) EXPECT_EQ(answer, "complete answer");
}

// Bad input is a 4xx that names what is wrong, and a neighbour's stream is the one it would have been.
TEST(ApiStream, BadNeighboursChangeNothing) {
  const auto server = FakeServer::start(script("length=200,step_ms=1"));
  ASSERT_NE(server, nullptr);
  const std::string body = chat_json("neighbour", R"("stream":true,"temperature":0)");
  auto before = Stream::open(server->port(), body);
  const std::string alone = streamed_text(before->events());
  auto beside = Stream::open(server->port(), body);
  ASSERT_TRUE(beside && beside->head());
  const std::string deep(60000, '[');
  for (const std::string& bad :
       {std::string("{"), std::string("[]"), "{\"messages\":" + deep, chat_json("\\ud800"), chat_json("\xFF"),
        chat_json("x", R"("temperature":1e400)"), chat_json("x", R"("n":0)"), chat_json("x", R"("max_tokens":-1)"),
        chat_json("x", R"("tools":[{}])"), chat_json("x", R"("seed":1.5)"), chat_json("x", R"("stop":[1])"),
        chat_json(std::string(200'000, 'x')), chat_json("x", R"("model":"none")")}) {
    const auto reply = request(server->port(), "POST", "/v1/chat/completions", bad);
    ASSERT_TRUE(reply) << bad.substr(0, 80);
    EXPECT_GE(reply->status, 400) << bad.substr(0, 80);
    EXPECT_LT(reply->status, 500) << bad.substr(0, 80);
    EXPECT_TRUE(reply->body.starts_with(R"({"error":{"message":")")) << reply->body;
  }
  EXPECT_EQ(streamed_text(beside->events()), alone);
}

// D8, B1: to the last token of the context, and not one beyond.
TEST(ApiStream, ThePromptMayFillTheContextButForOneToken) {
  const auto server = FakeServer::start(script("length=1000,context=256,blocks=64"));
  ASSERT_NE(server, nullptr);
  const auto complete = [&](std::size_t tokens) {
    return request(server->port(), "POST", "/v1/completions", R"({"prompt":")" + std::string(tokens, 'x') + "\"}");
  };
  const auto last = complete(255);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->status, 200) << last->body;
  EXPECT_NE(last->body.find(R"("finish_reason":"length")"), std::string::npos);
  for (const std::size_t tokens : {256, 257}) {
    const auto over = complete(tokens);
    ASSERT_TRUE(over);
    EXPECT_EQ(over->status, 400);
    EXPECT_EQ(error_code_of(*over), "context_length_exceeded");
  }
}

// F18: walked over real sockets.
TEST(ApiStream, EveryPathButTheOpenOnesNeedsAKey) {
  FakeServerSettings settings;
  settings.keys = {{"sk-secret-1", "", ""}};
  const auto server = FakeServer::start(std::move(settings));
  ASSERT_NE(server, nullptr);
  for (const serve::EndpointRule& rule : serve::endpoint_rules()) {
    const std::string path = std::string(rule.path) + (rule.path.ends_with('/') ? "fake" : "");
    const auto without = request(server->port(), rule.method, path, rule.method == "POST" ? "{}" : "");
    ASSERT_TRUE(without);
    EXPECT_EQ(without->status == 401, rule.access != serve::Access::kOpen) << path;
    const auto with = request(server->port(), rule.method, path, rule.method == "POST" ? "{}" : "",
                              "Authorization: Bearer sk-secret-1\r\n");
    ASSERT_TRUE(with);
    EXPECT_NE(with->status, 401) << path;
  }
}

// F18, F6: a body is not even asked for.
TEST(ApiStream, AWrongKeyIsRefusedBeforeTheBodyIsSent) {
  FakeServerSettings settings;
  settings.keys = {{"sk-secret-1", "", ""}};
  const auto server = FakeServer::start(std::move(settings));
  ASSERT_NE(server, nullptr);
  const auto statuses = [&](std::string_view start, std::string_view key) {
    auto connection = Connection::open(server->port());
    connection->send(std::string(start) + " HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n" +
                     "x-api-key: " + std::string(key) + "\r\n\r\n");
    const std::string head = connection->receive_until("\r\n");
    return head.substr(9, 3);
  };
  EXPECT_EQ(statuses("POST /v1/chat/completions", "sk-wrong-1"), "401");
  EXPECT_EQ(statuses("POST /v1/nothing", "sk-secret-1"), "404");
  EXPECT_EQ(statuses("PUT /v1/chat/completions", "sk-secret-1"), "405");
  EXPECT_EQ(statuses("POST /v1/chat/completions", "sk-secret-1"), "100");
}

// A client that closes its sending side after its request gets its whole answer, streamed or not, over both versions.
TEST(ApiStream, AHalfClosedClientGetsItsWholeAnswer) {
  const auto server = FakeServer::start(script("text=whole answer,step_ms=5"));
  ASSERT_NE(server, nullptr);
  for (const char* version : {"HTTP/1.0", "HTTP/1.1"}) {
    for (const bool stream : {false, true}) {
      auto connection = Connection::open(server->port());
      const std::string body = chat_json("x", stream ? R"("stream":true)" : "");
      connection->send("POST /v1/chat/completions " + std::string(version) +
                       "\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
      connection->half_close();
      const auto head = receive_head(*connection);
      ASSERT_TRUE(head) << version << stream;
      EXPECT_EQ(head->interim, 0) << "nobody asked for it";
      EXPECT_EQ("HTTP/" + head->version, version);
      EXPECT_EQ(head->status, 200);
      BodyReader reader(*connection, *head);
      std::string text;
      for (std::string part = reader.next(); !part.empty(); part = reader.next()) text += part;
      EXPECT_TRUE(reader.complete());
      EXPECT_TRUE(stream ? text.ends_with("data: [DONE]\n\n") : text.find("whole answer") != std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace takt::test
