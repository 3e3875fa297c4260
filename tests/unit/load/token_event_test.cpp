#include "load/token_event.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace takt::load {
namespace {

std::optional<AnswerEvent> read_short(std::string_view json, bool keep_text = true) {
  AnswerEvent event;
  return read_token_event(json, keep_text, event) ? std::optional(event) : std::nullopt;
}

// As servers in the field send them, thousands a second.
const std::vector<std::string> kPlain{
    R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]})",
    R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"f","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null})",
    R"({"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1,"id":"1","model":"m","object":"chat.completion.chunk"})",
    R"({"choices":[{"index":0,"delta":{"reasoning_content":"\u00e4 \"so\"\n"},"finish_reason":null}]})",
    R"({"id":"cmpl-1","object":"text_completion","choices":[{"index":0,"text":" w\t\"o\"","logprobs":{"tokens":["x"],"top_logprobs":[{"x":-0.5}]},"finish_reason":null}],"x":{"error":{"usage":[1,{"choices":[]}]}}})",
    R"({"choices":[{"index":0,"delta":{"content":"{\"finish_reason\":\"stop\"}"},"finish_reason":null},{"index":1,"delta":{"content":"b","tool_calls":[{}]},"finish_reason":"stop"}]})",
    R"({"choices":[]})",
    R"( {"object":7,"choices":{}} )",
};

// Those that say more than a token.
const std::vector<std::string> kMore{
    R"({"choices":[{"index":0,"delta":{},"finish_reason":"length"}]})",
    R"({"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2}})",
    R"({"choices":[],"takt":{"preemptions":1}})",
    R"({"error":{"message":"broke","code":"x"}})",
    R"({"error":"broke"})",
    R"({"object":"error","message":"broke"})",
    R"({"choices":[{"message":{"content":"whole"},"finish_reason":"stop"}]})",
    R"({"choices":[{"delta":{"tool_calls":[{"index":0}]},"finish_reason":null}]})",
    R"({"choices":[{"text":"a","delta":{}}]})",
    R"({"choices":[{"delta":{},"text":"a"}]})",
    R"({"choices":[{"delta":{"content":"a","content":""}}]})",
    R"({"choices":[{"delta":{"content":"a"}}],"choices":[]})",
    R"({"choices":[{"delta":{"te\u0078t":"a"}}]})",
    R"([{"choices":[]}])",
    R"("text")",
    R"({"choices":[]} {})",
    R"({"choices":[)",
    "",
};

TEST(TokenEvent, ATokensTextIsReadInOnePass) {
  const std::vector<std::string> texts{"", " word", "", "", " w\t\"o\"", "{\"finish_reason\":\"stop\"}", "", ""};
  for (std::size_t i = 0; i < kPlain.size(); ++i) {
    const auto event = read_short(kPlain[i]);
    ASSERT_TRUE(event) << kPlain[i];
    EXPECT_EQ(event->text, texts[i]);
    EXPECT_EQ(event->has_token, !texts[i].empty() || i == 3) << kPlain[i];
    EXPECT_FALSE(event->finished);
    EXPECT_EQ(read_short(kPlain[i], false)->text, "");
  }
}

TEST(TokenEvent, WhatSaysMoreIsLeftToTheReaderOfEverything) {
  for (const auto& json : kMore) EXPECT_FALSE(read_short(json)) << json;
}

// Whatever the bytes are: where the short way says anything, it says what the long one says.
TEST(TokenEvent, NeverSaysAnythingElseThanTheReaderOfEverything) {
  const auto agree = [](const std::string& json) {
    for (const bool keep_text : {false, true}) {
      const auto token = read_short(json, keep_text);
      if (!token) continue;
      const auto read = read_answer_event(json, keep_text);
      ASSERT_TRUE(read) << json;
      ASSERT_EQ(*read, *token) << json;
    }
  };
  std::vector<std::string> all = kPlain;
  all.insert(all.end(), kMore.begin(), kMore.end());
  for (const auto& json : all) {
    agree(json);
    for (std::size_t at = 0; at < json.size(); ++at) {
      std::string changed = json;
      changed.erase(at, 1);
      agree(changed);
      for (const char put : {'"', '{', '}', '[', '1'}) {
        changed = json;
        changed[at] = put;
        agree(changed);
      }
    }
    // Every word that matters in the place of every other.
    for (const char* from :
         {"choices", "delta", "content", "text", "usage", "index", "created", "logprobs", "finish_reason", "object"}) {
      for (const char* to : {"choices", "delta", "message", "content", "text", "refusal", "tool_calls", "usage",
                             "error", "takt", "finish_reason"}) {
        std::string changed = json;
        if (const auto at = changed.find(from); at != std::string::npos)
          changed.replace(at, std::string(from).size(), to);
        agree(changed);
      }
    }
  }
  agree(std::string(100, '[') + std::string(100, ']'));
  agree(R"({"a":)" + std::string(100, '[') + std::string(100, ']') + "}");
}

}  // namespace
}  // namespace takt::load
