// Answers on their way out: shapes of streams, stop strings, failures, readers.
#include <boost/json.hpp>

#include <algorithm>
#include <array>
#include <thread>

#include "unit/serve/serve_fixture.h"

namespace takt::test {
namespace {

namespace json = boost::json;

json::object body_of(const RecordingResponder& responder) {
  return json::parse(responder.record().body).as_object();
}

std::vector<std::string> events_of(const std::string& body) {
  std::vector<std::string> events;
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t end = body.find("\n\n", at);
    events.push_back(body.substr(at, end - at));
    at = end + 2;
  }
  return events;
}

class AnswerTest : public ServeFixture {};

// D1, D2, D4: the whole transcript of a stream.
TEST_F(AnswerTest, AStreamHasItsGoldenTranscript) {
  const auto client = chat(R"("stream":true,"stream_options":{"include_usage":true},"seed":7)");
  const RequestId id = engine_.wait_submitted().id;
  admit(id);
  say(id, "H");
  ASSERT_TRUE(client->wait_for([](const auto& record) { return record.writes == 1; }));
  say(id, "i", 0, 1);
  finish(id, FinishReason::kLength);
  close(id, 3);
  ASSERT_TRUE(client->wait_ended());
  const auto record = client->record();
  EXPECT_EQ(record.status, 200);
  EXPECT_EQ(record.header("content-type"), "text/event-stream");
  EXPECT_EQ(record.header("x-takt-seed"), "7");
  const std::string name = api::request_name(id);
  EXPECT_EQ(record.header("x-request-id"), name);
  const std::string head = R"(data: {"id":"chatcmpl-)" + name +
                           R"(","object":"chat.completion.chunk","created":1700000000,"model":"tiny","choices":[)";
  const std::string tail = R"("logprobs":null,"finish_reason":)";
  std::vector<std::string> events = events_of(record.body);
  ASSERT_EQ(events.size(), 5u) << record.body;
  EXPECT_EQ(events[0],
            head + R"({"index":0,"delta":{"role":"assistant","content":"H"},)" + tail + R"(null}],"usage":null})");
  EXPECT_EQ(events[1], head + R"({"index":0,"delta":{"content":"i"},)" + tail + R"(null}],"usage":null})");
  EXPECT_EQ(events[2], head + R"({"index":0,"delta":{},)" + tail + R"("length"}],"usage":null})");
  EXPECT_EQ(
      events[3],
      head +
          R"(],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9,"prompt_tokens_details":{"cached_tokens":3}},)" +
          R"("takt":{"request":")" + name +
          R"(","seed":7,"preparing_seconds":0E0,"queue_seconds":0E0,"prefill_seconds":0E0,"decode_seconds":0E0,"ttft_seconds":0E0,)" +
          R"("total_seconds":0E0,"cached_tokens":3,"preemptions":0,"waited_seconds":{}}})");
  EXPECT_EQ(events[4], "data: [DONE]");
  EXPECT_FALSE(record.aborted);
}

// The time in the queue is from acceptance on; what came before is told apart, and all add up.
TEST_F(AnswerTest, ItsTimesAddUp) {
  const auto client = chat();
  const RequestId id = engine_.wait_submitted().id;
  clock_.advance(std::chrono::milliseconds(1000));
  accept(id);
  clock_.advance(std::chrono::milliseconds(2000));
  admit(id);
  clock_.advance(std::chrono::milliseconds(4000));
  say(id, "H");
  clock_.advance(std::chrono::milliseconds(8000));
  finish(id);
  close(id);
  ASSERT_TRUE(client->wait_ended());
  const json::object times = body_of(*client).at("takt").as_object();
  EXPECT_EQ(times.at("preparing_seconds").to_number<double>(), 1.0);
  EXPECT_EQ(times.at("queue_seconds").to_number<double>(), 2.0);
  EXPECT_EQ(times.at("prefill_seconds").to_number<double>(), 4.0);
  EXPECT_EQ(times.at("decode_seconds").to_number<double>(), 8.0);
  EXPECT_EQ(times.at("total_seconds").to_number<double>(), 15.0);
}

// F17: a second signal. The engines go with the process and are not spoken to.
TEST_F(AnswerTest, AServerThatEndsAtOnceEndsEveryAnswerAsItsOwn) {
  const auto stream = chat(R"("stream":true)");
  const RequestId id = engine_.wait_submitted().id;
  admit(id);
  say(id, "H");
  ASSERT_TRUE(stream->wait_for([](const auto& record) { return record.writes == 1; }));
  const auto whole = chat();
  engine_.wait_submitted(2);
  delivery_->give_up({ErrorCode::kUnavailable, "The server was told to end at once", "draining"});
  ASSERT_TRUE(delivery_->wait_until_idle(std::chrono::seconds(10)));
  EXPECT_NE(stream->record().body.find(R"("code":"draining")"), std::string::npos) << stream->record().body;
  EXPECT_TRUE(stream->record().aborted);
  EXPECT_EQ(whole->record().status, 503);
  EXPECT_EQ(body_of(*whole).at("error").at("code"), "draining");
  EXPECT_EQ(engine_.cancels(), 0U);
}

TEST_F(AnswerTest, AnEmptyAnswerStillHasARoleAndAReason) {
  const auto client = chat(R"("stream":true)");
  answer(engine_.wait_submitted().id, "");
  ASSERT_TRUE(client->wait_ended());
  const auto events = events_of(client->record().body);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_NE(events[0].find(R"("delta":{"role":"assistant","content":""})"), std::string::npos);
  EXPECT_NE(events[0].find(R"("finish_reason":"stop")"), std::string::npos);
}

// D4
TEST_F(AnswerTest, AWholeAnswerHoldsTheSameText) {
  const auto client = chat(R"("seed":9)");
  answer(engine_.wait_submitted().id, "Hello");
  ASSERT_TRUE(client->wait_ended());
  const auto body = body_of(*client);
  EXPECT_EQ(client->record().status, 200);
  EXPECT_EQ(body.at("choices").at(0).at("message").at("content"), "Hello");
  EXPECT_EQ(body.at("choices").at(0).at("finish_reason"), "stop");
  EXPECT_EQ(body.at("usage").at("completion_tokens"), 5);
  EXPECT_EQ(body.at("takt").at("seed"), 9);
}

// C7, C9: and what was computed past the stop is neither sent nor counted.
TEST_F(AnswerTest, AStopStringEndsTheChoiceAndLaterTokensAreDropped) {
  const auto client = chat(R"("stop":["END"])");
  const RequestId id = engine_.wait_submitted().id;
  admit(id);
  say(id, "one ENDtwo");
  ASSERT_TRUE(engine_.wait_finished(id, 0));
  finish(id, FinishReason::kLength);
  close(id);
  ASSERT_TRUE(client->wait_ended());
  const auto body = body_of(*client);
  EXPECT_EQ(body.at("choices").at(0).at("message").at("content"), "one ");
  EXPECT_EQ(body.at("choices").at(0).at("finish_reason"), "stop");
  EXPECT_EQ(body.at("usage").at("completion_tokens"), 7);
}

// D11
TEST_F(AnswerTest, EveryChoiceArrivesAndThePromptCountsOnce) {
  const auto client = chat(R"("n":3)");
  const EngineRequest request = engine_.wait_submitted();
  EXPECT_EQ(request.choices, 3u);
  EXPECT_EQ(engine_.asked_room().second, 3u);
  admit(request.id);
  for (std::uint32_t c = 0; c < 3; ++c) {
    say(request.id, std::string(1, static_cast<char>('a' + c)), c);
    finish(request.id, FinishReason::kStop, c);
  }
  close(request.id);
  ASSERT_TRUE(client->wait_ended());
  const auto body = body_of(*client);
  ASSERT_EQ(body.at("choices").as_array().size(), 3u);
  EXPECT_EQ(body.at("choices").at(2).at("message").at("content"), "c");
  EXPECT_EQ(body.at("usage").at("prompt_tokens"), 7);
  EXPECT_EQ(body.at("usage").at("completion_tokens"), 3);
}

// D4, D1: every choice of a stream has one role, one reason and nothing after it; the end marker comes last.
TEST_F(AnswerTest, EveryChoiceOfAStreamHasOneRoleAndOneReason) {
  const auto client = chat(R"("stream":true,"n":3)");
  const RequestId id = engine_.wait_submitted().id;
  admit(id);
  for (std::uint32_t index = 0; index < 4; ++index) {
    for (std::uint32_t c = 0; c < 3; ++c) say(id, "x", c, index);
  }
  for (std::uint32_t c = 0; c < 3; ++c) finish(id, c == 1 ? FinishReason::kLength : FinishReason::kStop, c);
  close(id);
  ASSERT_TRUE(client->wait_ended());
  auto events = events_of(client->record().body);
  ASSERT_EQ(events.back(), "data: [DONE]");
  events.pop_back();
  std::array<std::string, 3> reasons;
  std::array<int, 3> roles{};
  for (const std::string& event : events) {
    const auto choice = json::parse(event.substr(6)).at("choices").at(0).as_object();
    const auto index = choice.at("index").to_number<std::size_t>();
    EXPECT_EQ(reasons.at(index), "") << "after its end: " << event;
    if (!choice.at("finish_reason").is_null()) reasons.at(index) = choice.at("finish_reason").as_string();
    if (choice.at("delta").as_object().contains("role")) ++roles.at(index);
  }
  EXPECT_EQ(reasons, (std::array<std::string, 3>{"stop", "length", "stop"}));
  EXPECT_EQ(roles, (std::array<int, 3>{1, 1, 1}));
}

TEST_F(AnswerTest, SeveralPromptsAreOneAnswer) {
  const auto client = complete(R"("prompt":["x","yz"],"n":2)");
  const EngineRequest second = engine_.wait_submitted(2);
  const EngineRequest first = engine_.submitted()[0];
  EXPECT_EQ(first.sampling.seed, second.sampling.seed);
  for (const RequestId id : {second.id, first.id}) {
    admit(id);
    for (std::uint32_t c = 0; c < 2; ++c) {
      say(id, id == first.id ? "1" : "2", c);
      finish(id, FinishReason::kStop, c);
    }
    close(id);
  }
  ASSERT_TRUE(client->wait_ended());
  const auto body = body_of(*client);
  ASSERT_EQ(body.at("choices").as_array().size(), 4u);
  EXPECT_EQ(body.at("choices").at(0).at("text"), "1");
  EXPECT_EQ(body.at("choices").at(3).at("text"), "2");
  EXPECT_EQ(body.at("choices").at(3).at("index"), 3);
  EXPECT_EQ(body.at("usage").at("prompt_tokens"), 5);
}

// C15
TEST_F(AnswerTest, EchoPutsThePromptAndItsLogprobsFirst) {
  const auto client = complete(R"("prompt":"ab","echo":true,"logprobs":1,"max_tokens":1)");
  const EngineRequest request = engine_.wait_submitted();
  EXPECT_TRUE(request.prompt_logprobs);
  EXPECT_EQ(request.prompt, (std::vector<TokenId>{kBegin, 'a', 'b'}));
  admit(request.id);
  publish(PromptScored{request.id, {{'a', -1.0F, {}}, {'b', -2.0F, {{'b', -2.0F}}}}});
  say(request.id, "c");
  finish(request.id, FinishReason::kLength);
  close(request.id);
  ASSERT_TRUE(client->wait_ended());
  const auto choice = body_of(*client).at("choices").at(0).as_object();
  EXPECT_EQ(choice.at("text"), "abc");
  const auto& logprobs = choice.at("logprobs").as_object();
  EXPECT_EQ(logprobs.at("tokens").as_array(), (json::array{"<bos>", "a", "b", "c"}));
  EXPECT_TRUE(logprobs.at("token_logprobs").at(0).is_null());
  EXPECT_EQ(logprobs.at("token_logprobs").at(2), -2.0);
  EXPECT_EQ(logprobs.at("text_offset").as_array(), (json::array{0, 0, 1, 2}));
}

// C15: control tokens that the prompt spells are part of its text, the one put before it is not.
TEST_F(AnswerTest, EchoPlacesThePromptsTokensInItsText) {
  const auto client = complete(R"("prompt":"<turn>\u00e9x","echo":true,"logprobs":0)");
  const EngineRequest request = engine_.wait_submitted();
  ASSERT_EQ(request.prompt, (std::vector<TokenId>{kBegin, kTurn, 0xC3, 0xA9, 'x'}));
  admit(request.id);
  publish(PromptScored{request.id, {{kTurn, -1.0F, {}}, {0xC3, -1.0F, {}}, {0xA9, -1.0F, {}}, {'x', -1.0F, {}}}});
  say(request.id, "c");
  finish(request.id);
  close(request.id);
  ASSERT_TRUE(client->wait_ended());
  const auto choice = body_of(*client).at("choices").at(0).as_object();
  EXPECT_EQ(choice.at("text"), "<turn>\xC3\xA9xc");
  EXPECT_EQ(choice.at("logprobs").at("text_offset").as_array(), (json::array{0, 0, 6, 6, 7, 8}));
}

// C15: stream and whole answer hold the same logprobs.
TEST_F(AnswerTest, LogprobsOfAStreamJoinToThoseOfTheWholeAnswer) {
  json::array streamed;
  for (const bool stream : {true, false}) {
    const auto client =
        chat(R"("logprobs":true,"top_logprobs":2,"stop":"zz","stream":)" + std::string(stream ? "true" : "false"));
    answer(engine_.wait_submitted(stream ? 1 : 2).id,
           "az\xE2\x82\xAC"
           "b");
    ASSERT_TRUE(client->wait_ended());
    if (!stream) {
      EXPECT_EQ(body_of(*client).at("choices").at(0).at("logprobs").at("content").as_array(), streamed);
      EXPECT_EQ(streamed.size(), 6u);
      return;
    }
    for (const std::string& event : events_of(client->record().body)) {
      if (event == "data: [DONE]") continue;
      const auto logprobs = json::parse(event.substr(6)).at("choices").at(0).at("logprobs");
      if (logprobs.is_object()) {
        for (const auto& token : logprobs.at("content").as_array()) streamed.push_back(token);
      }
    }
  }
}

// D7: a failed stream carries one error event, no finish reason and no end marker.
TEST_F(AnswerTest, AFailureInAStreamIsAnErrorEventWithoutACleanEnd) {
  const auto client = chat(R"("stream":true)");
  const RequestId id = engine_.wait_submitted().id;
  admit(id);
  finish(id, FinishReason::kFailed, 0, Error::internal("the step failed"));
  close(id);
  ASSERT_TRUE(client->wait_ended());
  const auto record = client->record();
  EXPECT_EQ(
      events_of(record.body),
      (std::vector<std::string>{
          R"(data: {"error":{"message":"the step failed","type":"server_error","param":null,"code":"internal_error"}})"}));
  EXPECT_TRUE(record.aborted);
}

// D6: what fails before admission has a real status, streams too.
TEST_F(AnswerTest, AFailureBeforeAdmissionIsARealStatus) {
  const auto client = chat(R"("stream":true)");
  const RequestId id = engine_.wait_submitted().id;
  finish(id, FinishReason::kExpired);
  close(id);
  ASSERT_TRUE(client->wait_ended());
  const auto record = client->record();
  EXPECT_EQ(record.status, 503);
  EXPECT_FALSE(record.streaming);
  EXPECT_EQ(body_of(*client).at("error").at("code"), "queue_wait_expired");
  EXPECT_NE(record.header("retry-after"), "");
}

TEST_F(AnswerTest, OneFailedChoiceEndsTheAnswerAndCancelsTheRest) {
  const auto client = chat(R"("n":2)");
  const RequestId id = engine_.wait_submitted().id;
  admit(id);
  say(id, "abc", 0);
  finish(id, FinishReason::kFailed, 1, Error::internal("lost"));
  ASSERT_TRUE(client->wait_ended());
  EXPECT_EQ(client->record().status, 500);
  EXPECT_TRUE(engine_.wait_cancelled(id, CancelCause::kClientGone));
}

// D10: as long as it is silent, before its first token and between tokens; nothing while it is not.
TEST_F(AnswerTest, AnAdmittedStreamThatIsSilentGetsCommentLines) {
  const auto client = chat(R"("stream":true)");
  const RequestId id = engine_.wait_submitted().id;
  accept(id);
  clock_.advance(std::chrono::seconds(60));
  EXPECT_EQ(client->record().status, 0) << "nothing goes out before admission";
  admit(id);
  ASSERT_TRUE(client->wait_for([](const auto& record) { return record.streaming; }));
  std::size_t writes = 0;
  const auto silence = [&](int times) {
    for (int i = 0; i < times; ++i) {
      clock_.advance(std::chrono::seconds(5));
      ++writes;
      ASSERT_TRUE(client->wait_for([&](const auto& record) { return record.writes == writes; })) << writes;
      EXPECT_TRUE(client->record().body.ends_with(": keep-alive\n\n"));
    }
  };
  silence(10);
  say(id, "x");
  ++writes;
  ASSERT_TRUE(client->wait_for([&](const auto& record) { return record.writes == writes; }));
  silence(10);
  finish(id);
  close(id);
  ASSERT_TRUE(client->wait_ended());
  const auto events = events_of(client->record().body);
  EXPECT_EQ(std::count(events.begin(), events.end(), ": keep-alive"), 20);
  EXPECT_EQ(events.back(), "data: [DONE]");
}

// DESIGN 9, H10: with the header, the status line goes out at acceptance and the queue's place is told while it waits.
TEST_F(AnswerTest, AnEarlyStatusComesWithTheQueuesPlaceUntilAdmission) {
  accept(RequestId(1));
  const auto client = chat(R"("stream":true)", {{"x-takt-early-status", "1"}});
  const RequestId id = engine_.wait_submitted().id;
  EXPECT_EQ(client->record().status, 0) << "not accepted yet";
  accept(id);
  const auto says = [&](const std::string& end) {
    return client->wait_for([&](const auto& record) { return record.body.ends_with(end); });
  };
  ASSERT_TRUE(says(": queue position 2\n\n"));
  EXPECT_EQ(client->record().status, 200);
  admit(RequestId(1));
  clock_.advance(std::chrono::seconds(6));
  ASSERT_TRUE(says(": queue position 1\n\n")) << "no time before one has ended";
  close(RequestId(1));
  while (!delivery_->load().place_of(id)->predicted) std::this_thread::yield();
  clock_.advance(std::chrono::seconds(6));
  ASSERT_TRUE(says(": queue position 1, starts in about 6 s\n\n"));
  admit(id);
  clock_.advance(std::chrono::seconds(6));
  ASSERT_TRUE(says(": keep-alive\n\n"));
  say(id, "x");
  finish(id);
  close(id);
  ASSERT_TRUE(client->wait_ended());
  EXPECT_TRUE(client->record().body.ends_with("data: [DONE]\n\n"));
}

TEST_F(AnswerTest, AFailureAfterAnEarlyStatusIsAnErrorEvent) {
  const auto client = chat(R"("stream":true)", {{"x-takt-early-status", "1"}});
  const RequestId id = engine_.wait_submitted().id;
  accept(id);
  ASSERT_TRUE(client->wait_for([](const auto& record) { return record.streaming; }));
  finish(id, FinishReason::kExpired);
  close(id);
  ASSERT_TRUE(client->wait_ended());
  EXPECT_EQ(client->record().status, 200);
  EXPECT_NE(client->record().body.find(R"("code":"queue_wait_expired")"), std::string::npos);
  EXPECT_TRUE(client->record().aborted);
}

TEST_F(AnswerTest, AnEarlyStatusIsForAcceptedStreamsAlone) {
  const auto whole = chat({}, {{"x-takt-early-status", "1"}});
  const RequestId id = engine_.wait_submitted().id;
  accept(id);
  finish(id, FinishReason::kExpired);
  close(id);
  ASSERT_TRUE(whole->wait_ended());
  EXPECT_EQ(whole->record().status, 503);
  engine_.accept_only(0, {ErrorCode::kUnavailable, "full", "queue_full"});
  const auto refused = chat(R"("stream":true)", {{"x-takt-early-status", "1"}});
  ASSERT_TRUE(refused->wait_ended());
  EXPECT_EQ(refused->record().status, 503);
}

TEST_F(AnswerTest, TextWaitsAndGoesOutInOnePieceWhileTheReaderIsBehind) {
  const auto client = chat(R"("stream":true)");
  const RequestId id = engine_.wait_submitted().id;
  admit(id);
  say(id, "a");
  ASSERT_TRUE(client->wait_for([](const auto& record) { return record.writes == 1; }));
  client->set_queued_bytes(1 << 20);
  say(id, "bcd");
  ASSERT_TRUE(client->wait_queue_seen());
  EXPECT_EQ(client->record().writes, 1u);
  client->set_queued_bytes(0);
  finish(id);
  close(id);
  ASSERT_TRUE(client->wait_ended());
  const auto events = events_of(client->record().body);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_NE(events[1].find(R"("content":"bcd")"), std::string::npos);
}

TEST_F(AnswerTest, AReaderThatStaysBehindIsCutAndCancelled) {
  const auto client = chat(R"("stream":true)");
  const RequestId id = engine_.wait_submitted().id;
  admit(id);
  client->set_queued_bytes(1 << 20);
  say(id, "a");
  ASSERT_TRUE(client->wait_queue_seen());
  clock_.advance(std::chrono::seconds(31));
  ASSERT_TRUE(engine_.wait_cancelled(id, CancelCause::kSlowReader));
  ASSERT_TRUE(client->wait_ended());
  EXPECT_TRUE(client->record().aborted);
}

}  // namespace
}  // namespace takt::test
