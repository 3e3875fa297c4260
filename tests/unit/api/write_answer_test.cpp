#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <limits>
#include <string>

#include "api/write_answer.h"

namespace takt::api {
namespace {

namespace json = boost::json;

AnswerHead chat_head() {
  return {AnswerKind::kChat, "chatcmpl-1", 1700000000, "m", false, false};
}
AnswerHead completion_head() {
  return {AnswerKind::kCompletion, "cmpl-1", 1700000000, "m", false, false};
}

// D1
TEST(StreamChunk, CarriesEveryFieldAndTheRoleInTheFirstContent) {
  EXPECT_EQ(
      stream_chunk(chat_head(), {0, true, "Hi", {}, {}}),
      R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,)"
      R"("delta":{"role":"assistant","content":"Hi"},"logprobs":null,"finish_reason":null}]})");
  EXPECT_EQ(
      stream_chunk(chat_head(), {1, false, " you", {}, {}}),
      R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":1,)"
      R"("delta":{"content":" you"},"logprobs":null,"finish_reason":null}]})");
}

// D1, D4
TEST(StreamChunk, TheLastOneOfAChoiceHasAnEmptyDeltaAndTheReason) {
  EXPECT_EQ(
      stream_chunk(chat_head(), {0, false, "", {}, FinishReason::kLength}),
      R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,)"
      R"("delta":{},"logprobs":null,"finish_reason":"length"}]})");
}

// D2
TEST(StreamChunk, UsageIsNullInEveryChunkAndThenStandsAlone) {
  AnswerHead head = chat_head();
  head.include_usage = true;
  const auto chunk = json::parse(stream_chunk(head, {0, true, "x", {}, {}})).as_object();
  EXPECT_TRUE(chunk.at("usage").is_null());
  EXPECT_FALSE(json::parse(stream_chunk(chat_head(), {0, true, "x", {}, {}})).as_object().contains("usage"));
  const auto last = json::parse(usage_chunk(head, {10, 5, 4}, {})).as_object();
  EXPECT_TRUE(last.at("choices").as_array().empty());
  EXPECT_EQ(last.at("usage").at("prompt_tokens"), 10);
  EXPECT_EQ(last.at("usage").at("completion_tokens"), 5);
  EXPECT_EQ(last.at("usage").at("total_tokens"), 15);
  EXPECT_EQ(last.at("usage").at("prompt_tokens_details").at("cached_tokens"), 4);
}

TEST(StreamChunk, OfACompletionHasTextInsteadOfADelta) {
  EXPECT_EQ(
      stream_chunk(completion_head(), {0, true, "Hi", {}, {}}),
      R"({"id":"cmpl-1","object":"text_completion","created":1700000000,"model":"m","choices":[{"index":0,"text":"Hi",)"
      R"("logprobs":null,"finish_reason":null}]})");
}

TEST(WholeAnswer, HoldsMessageUsageAndTimings) {
  AnswerTimings timings;
  timings.seed = 42;
  timings.preparing = std::chrono::milliseconds(125);
  timings.queue = std::chrono::milliseconds(500);
  timings.waited.emplace_back("seat", std::chrono::milliseconds(250));
  const auto answer =
      json::parse(whole_answer(chat_head(), {{0, true, "Hello", {}, FinishReason::kStop}}, {3, 2, 0}, timings))
          .as_object();
  EXPECT_EQ(answer.at("object"), "chat.completion");
  const auto& choice = answer.at("choices").at(0);
  EXPECT_EQ(choice.at("message").at("role"), "assistant");
  EXPECT_EQ(choice.at("message").at("content"), "Hello");
  EXPECT_EQ(choice.at("finish_reason"), "stop");
  EXPECT_EQ(answer.at("takt").at("seed"), 42);
  EXPECT_EQ(answer.at("takt").at("preparing_seconds"), 0.125);
  EXPECT_EQ(answer.at("takt").at("queue_seconds"), 0.5);
  EXPECT_EQ(answer.at("takt").at("waited_seconds").at("seat"), 0.25);
}

// C12, C15
TEST(Logprobs, OfChatHoldTokenBytesAndTheBest) {
  AnswerHead head = chat_head();
  head.logprobs = true;
  const ChoiceDelta delta{0,
                          true,
                          "\xE2\x82\xAC",
                          {{"\xE2\x82", -0.5F, {{"\xE2\x82", -0.5F}, {"a", -1.0F}}, 0}, {"\xAC", -0.25F, {}, 0}},
                          {}};
  const auto logprobs =
      json::parse(stream_chunk(head, delta)).at("choices").at(0).at("logprobs").at("content").as_array();
  ASSERT_EQ(logprobs.size(), 2u);
  EXPECT_EQ(logprobs[0].at("token"), "\\xe2\\x82");
  EXPECT_EQ(logprobs[0].at("bytes").as_array(), (json::array{0xE2, 0x82}));
  EXPECT_EQ(logprobs[0].at("logprob"), -0.5);
  EXPECT_EQ(logprobs[0].at("top_logprobs").as_array().size(), 2u);
}

// C15
TEST(Logprobs, OfCompletionsAreFourParallelLists) {
  AnswerHead head = completion_head();
  head.logprobs = true;
  const ChoiceDelta whole{0, true, "ab", {{"a", {}, {}, 0}, {"b", -0.5F, {{"c", -0.25F}}, 1}}, FinishReason::kStop};
  const auto logprobs = json::parse(whole_answer(head, {whole}, {}, {})).at("choices").at(0).at("logprobs").as_object();
  EXPECT_EQ(logprobs.at("tokens").as_array(), (json::array{"a", "b"}));
  EXPECT_TRUE(logprobs.at("token_logprobs").at(0).is_null());
  EXPECT_EQ(logprobs.at("token_logprobs").at(1), -0.5);
  EXPECT_TRUE(logprobs.at("top_logprobs").at(0).is_null());
  EXPECT_EQ(logprobs.at("top_logprobs").at(1).at("c"), -0.25);
  EXPECT_EQ(logprobs.at("top_logprobs").at(1).at("b"), -0.5);
  EXPECT_EQ(logprobs.at("text_offset").as_array(), (json::array{0, 1}));
}

// C15
TEST(Logprobs, AreFiniteAndNeverPositive) {
  AnswerHead head = chat_head();
  head.logprobs = true;
  const float infinity = std::numeric_limits<float>::infinity();
  const ChoiceDelta delta{
      0,
      true,
      "abc",
      {{"a", -infinity, {}, 0}, {"b", 1e-7F, {}, 1}, {"c", std::numeric_limits<float>::quiet_NaN(), {}, 2}},
      {}};
  const auto logprobs =
      json::parse(stream_chunk(head, delta)).at("choices").at(0).at("logprobs").at("content").as_array();
  EXPECT_EQ(logprobs[0].at("logprob"), -9999.0);
  EXPECT_EQ(logprobs[1].at("logprob").to_number<double>(), 0.0);
  EXPECT_EQ(logprobs[2].at("logprob"), -9999.0);
}

// C10
TEST(AnyBytes, GiveValidJson) {
  std::string bytes;
  for (int i = 255; i >= 0; --i) bytes += static_cast<char>(i);
  AnswerHead head = completion_head();
  head.logprobs = true;
  head.model = bytes;
  const ChoiceDelta delta{0, true, bytes, {{bytes, -1.0F, {{bytes, -1.0F}}, 0}}, {}};
  boost::system::error_code code;
  json::parse(stream_chunk(head, delta), code);
  EXPECT_FALSE(code) << code.message();
  json::parse(whole_answer(head, {delta}, {}, {}), code);
  EXPECT_FALSE(code) << code.message();
  json::parse(detokenize_answer(bytes), code);
  EXPECT_FALSE(code) << code.message();
}

TEST(AnswerIds, CarryTheRequestsName) {
  EXPECT_EQ(request_name(RequestId(0x1A2B)), "0000000000001a2b");
  EXPECT_EQ(answer_id(AnswerKind::kChat, RequestId(1)), "chatcmpl-0000000000000001");
  EXPECT_EQ(answer_id(AnswerKind::kCompletion, RequestId(1)), "cmpl-0000000000000001");
}

TEST(Models, AreListedWithWhatARequestMayReallyHave) {
  const auto list = json::parse(model_list({{"a", 5, 4096}})).as_object();
  EXPECT_EQ(list.at("object"), "list");
  EXPECT_EQ(list.at("data").at(0).at("id"), "a");
  EXPECT_EQ(list.at("data").at(0).at("max_model_len"), 4096);
}

TEST(ServerSentEvents, HaveTheirFrames) {
  EXPECT_EQ(sse_data("{}"), "data: {}\n\n");
  EXPECT_EQ(sse_comment("keep-alive"), ": keep-alive\n\n");
  EXPECT_EQ(kStreamEnd, "data: [DONE]\n\n");
}

}  // namespace
}  // namespace takt::api
