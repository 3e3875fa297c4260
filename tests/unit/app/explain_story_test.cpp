// The story of a request for people, and what is understood as a server's address.
#include "explain_story.h"

#include <gtest/gtest.h>

#include "http_get.h"

namespace takt::app {
namespace {

constexpr const char* kRequest = R"({"id":"00000000000000ab","state":"ended","model":"tiny","service_class":"chat",
  "tier":"realtime","tenant":"family","application":"","prompt_tokens":100,"cached_tokens":64,"output_tokens":3,
  "choices":1,"preemptions":1,"ttft_seconds":0.5,"total_seconds":2.0,"finish_reason":"stop","outcome":"answered",
  "worst_gap":{"seconds":1.2,"at_seconds":1.8},
  "seconds_by_state":{"preparing":0.1,"queued":0.3,"prefill":0.1,"decode":0.3,"preempted":1.2,"sending":0.0},
  "spans":[{"state":"preparing","from_seconds":0,"to_seconds":0.1},
    {"state":"queued","from_seconds":0.1,"to_seconds":0.4,"waited_seconds":{"seat":0.2,"blocks":0.1}},
    {"state":"prefill","from_seconds":0.4,"to_seconds":0.5,"tokens":36},
    {"state":"decode","from_seconds":0.5,"to_seconds":0.6,"tokens":1},
    {"state":"preempted","from_seconds":0.6,"to_seconds":1.8,"kind":"recompute","dropped_tokens":101,
     "in_favour_of":"realtime","waited_seconds":{"blocks":1.2}},
    {"state":"decode","from_seconds":1.8,"to_seconds":2.0,"tokens":2}],
  "spans_left_out":0})";

TEST(ExplainStory, TellsWhatHappenedAndTheShareOfEachCause) {
  const auto story = request_story(kRequest);
  ASSERT_TRUE(story);
  EXPECT_EQ(*story,
            "Request 00000000000000ab: class chat, tier realtime, tenant family, model tiny\n"
            "  2.00 s in all, prompt of 100 tokens (64 from the cache), answer of 3 tokens, first after 500.0 ms\n"
            "  ended: stop\n"
            "\nWhere the time went:\n"
            "      1.20 s   60 %  ##################  preempted for KV blocks\n"
            "    300.0 ms   15 %  ####  decode\n"
            "    200.0 ms   10 %  ###  queued for a seat\n"
            "    100.0 ms    5 %  #  preparing\n"
            "    100.0 ms    5 %  #  queued for KV blocks\n"
            "    100.0 ms    5 %  #  prefill\n"
            "\nWhat happened, from its arrival on:\n"
            "      0.0 ms  preparing for 100.0 ms: reading, template, tokens, hand-over to the engine\n"
            "    100.0 ms  queued for 300.0 ms: 200.0 ms for a seat, 100.0 ms for KV blocks\n"
            "    400.0 ms  prefill for 100.0 ms: 36 tokens\n"
            "    500.0 ms  decode for 100.0 ms: 1 token\n"
            "    600.0 ms  preempted for 1.20 s by realtime work, 101 tokens to compute again: 1.20 s for KV blocks\n"
            "      1.80 s  decode for 200.0 ms: 2 tokens\n"
            "\nLongest pause between two tokens: 1.20 s, up to 1.80 s\n");
}

// Choices run side by side: their times do not add up to the request's.
TEST(ExplainStory, SeveralChoicesHaveSharesOfTheirOwn) {
  const auto story = request_story(R"({"id":"1","state":"ended","choices":2,"total_seconds":1.0,
    "seconds_by_state":{"queued":0.4,"decode":1.4},
    "spans":[{"state":"queued","choice":0,"from_seconds":0,"to_seconds":0.1,"waited_seconds":{"seat":0.1}},
      {"state":"queued","choice":1,"from_seconds":0,"to_seconds":0.3,"waited_seconds":{"sibling":0.3}},
      {"state":"decode","choice":0,"from_seconds":0.1,"to_seconds":1.0,"tokens":5},
      {"state":"decode","choice":1,"from_seconds":0.5,"to_seconds":1.0,"tokens":5}]})");
  ASSERT_TRUE(story);
  const auto has = [&](const char* line) { return story->find(line) != std::string::npos; };
  EXPECT_TRUE(has("choice 0\n    900.0 ms   90 %")) << *story;
  EXPECT_TRUE(has("    100.0 ms   10 %  ###  queued for a seat\nchoice 1\n")) << *story;
  EXPECT_TRUE(has("    300.0 ms   37 %")) << *story;
}

TEST(ExplainStory, ListsRequestsWithTheirLargestCause) {
  const auto table = requests_table(std::string(R"({"requests":[)") + kRequest + "]}");
  ASSERT_TRUE(table);
  EXPECT_NE(table->find("00000000000000ab chat"), std::string::npos) << *table;
  EXPECT_NE(table->find("preempted for KV blocks (60 %)"), std::string::npos) << *table;
}

TEST(ExplainStory, BearsAnyJson) {
  for (const char* body : {"[]", "1", "", "{", R"({"requests":{}})"}) {
    const auto story = request_story(body);
    const auto table = requests_table(body);
    EXPECT_TRUE(story || story.error().code == ErrorCode::kIo) << body;
    EXPECT_TRUE(table || table.error().code == ErrorCode::kIo) << body;
  }
  const auto hostile = request_story("{\"id\":\"\\u001b[31m\",\"spans\":[null,7,{\"state\":[]}],\"choices\":\"x\"}");
  ASSERT_TRUE(hostile);
  EXPECT_EQ(hostile->find('\x1b'), std::string::npos);
}

TEST(ServerUrl, IsAHostAndAPort) {
  const auto address = [](std::string_view url) {
    const auto server = parse_url(url);
    return server ? server->host + " " + std::to_string(server->port) : "refused: " + server.error().field;
  };
  EXPECT_EQ(address("http://127.0.0.1:8080"), "127.0.0.1 8080");
  EXPECT_EQ(address("http://box.lan/"), "box.lan 80");
  EXPECT_EQ(address("box:9000"), "box 9000");
  EXPECT_EQ(address("box"), "box 8080");
  EXPECT_EQ(address("http://[::1]:8080"), "::1 8080");
  for (const char* url :
       {"", "https://box", "http://", "http://:80", "box:", "box:0", "box:65536", "box:8x", "http://box/v1", "[::1"})
    EXPECT_EQ(address(url), "refused: url") << url;
}

}  // namespace
}  // namespace takt::app
