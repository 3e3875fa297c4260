#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>

#include "api/parse_request.h"
#include "api/template_context.h"

namespace takt::api {
namespace {

constexpr std::string_view kMessages = R"("messages":[{"role":"user","content":"Hi"}])";

std::string chat_body(std::string_view fields) {
  return "{" + std::string(kMessages) + (fields.empty() ? "" : ",") + std::string(fields) + "}";
}

Result<ChatRequest> chat(std::string_view fields, const ApiOptions& options = {}) {
  return parse_chat(chat_body(fields), options);
}

Result<CompletionRequest> completion(std::string_view fields) {
  return parse_completion("{" + std::string(fields) + "}", {});
}

TEST(ParseChat, FillsInNeutralDefaults) {
  const auto request = chat("");
  ASSERT_TRUE(request.ok()) << request.error().message;
  const GenerationOptions& options = request->options;
  EXPECT_EQ(options.model, "");
  EXPECT_FALSE(options.stream);
  EXPECT_EQ(options.choices, 1u);
  EXPECT_FALSE(options.max_tokens.has_value());
  EXPECT_FALSE(options.seed.has_value());
  EXPECT_FALSE(options.wants_logprobs());
  EXPECT_EQ(options.sampling.temperature, 1.0F);
  EXPECT_TRUE(request->conversation.add_generation_prompt);
}

TEST(ParseChat, ReadsEveryField) {
  const auto request = chat(R"("model":"m","stream":true,"stream_options":{"include_usage":true},"n":3,"stop":["a","b"],
    "stop_token_ids":[5,6],"logprobs":true,"top_logprobs":4,"seed":18446744073709551615,"max_completion_tokens":7,"min_tokens":2,
    "ignore_eos":true,"temperature":0.5,"top_p":0.9,"top_k":40,"min_p":0.05,"typical_p":0.8,"repeat_penalty":1.1,
    "presence_penalty":-2,"frequency_penalty":2,"repeat_last_n":-1,"logit_bias":{"12":-100,"3":1.5},"user":"u","cache_prompt":false)");
  ASSERT_TRUE(request.ok()) << request.error().message;
  const GenerationOptions& options = request->options;
  EXPECT_EQ(options.model, "m");
  EXPECT_TRUE(options.stream);
  EXPECT_TRUE(options.include_usage);
  EXPECT_EQ(options.choices, 3u);
  EXPECT_EQ(options.stops, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options.stop_tokens, (std::vector<TokenId>{5, 6}));
  EXPECT_EQ(options.sampling.top_logprobs, 4);
  EXPECT_EQ(options.seed, 18446744073709551615ull);
  EXPECT_EQ(options.max_tokens, 7u);
  EXPECT_EQ(options.min_tokens, 2u);
  EXPECT_TRUE(options.ignore_eos);
  EXPECT_FLOAT_EQ(options.sampling.repetition_penalty, 1.1F);
  EXPECT_EQ(options.sampling.top_k, 40);
  EXPECT_EQ(options.sampling.penalty_last_n, -1);
  ASSERT_EQ(options.sampling.logit_bias.size(), 2u);
  EXPECT_EQ(options.sampling.logit_bias[0].token, 12);
  EXPECT_EQ(options.user, "u");
  EXPECT_FALSE(options.use_prefix_cache);
}

TEST(ParseChat, JoinsTextPartsAndWritesDeveloperAsSystem) {
  const auto request =
      parse_chat(R"({"messages":[{"role":"developer","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
    {"role":"user","content":"q","name":null}]})",
                 {});
  ASSERT_TRUE(request.ok()) << request.error().message;
  EXPECT_EQ(request->conversation.messages, R"([{"role":"system","content":"a\nb"},{"role":"user","content":"q"}])");
}

TEST(ParseChat, TemplateContextHoldsWhatTemplatesRead) {
  const auto request = chat(R"("chat_template_kwargs":{"enable_thinking":false})");
  ASSERT_TRUE(request.ok()) << request.error().message;
  const auto context = boost::json::parse(template_context(request->conversation, "<s>", "</s>")).as_object();
  EXPECT_TRUE(context.at("tools").is_null());
  EXPECT_TRUE(context.at("documents").is_null());
  EXPECT_EQ(context.at("bos_token"), "<s>");
  EXPECT_EQ(context.at("add_generation_prompt"), true);
  EXPECT_EQ(context.at("enable_thinking"), false);
  EXPECT_EQ(context.at("messages").as_array().size(), 1u);
}

TEST(ParseChat, TheServersOwnTemplateVariablesCannotBeOverwritten) {
  for (const std::string name :
       {"messages", "tools", "documents", "add_generation_prompt", "continue_final_message", "now", "strftime_now",
        "raise_exception", "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token",
        "eot_token", "eom_token", "chat_template", "tokenize"}) {
    const auto request = chat("\"chat_template_kwargs\":{\"a\":1,\"" + name + "\":\"2026-01-15T12:00:00\"}");
    ASSERT_FALSE(request.ok()) << name;
    EXPECT_EQ(request.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(request.error().field, "chat_template_kwargs." + name);
  }
  EXPECT_TRUE(chat(R"("chat_template_kwargs":{"date_string":"15 Jan 2026","Now":1})").ok());
}

TEST(ParseChat, ContinuingTheFinalMessageAddsNoGenerationPrompt) {
  const auto request = chat(R"("continue_final_message":true)");
  ASSERT_TRUE(request.ok());
  EXPECT_FALSE(request->conversation.add_generation_prompt);
  EXPECT_FALSE(chat(R"("continue_final_message":true,"add_generation_prompt":true)").ok());
}

TEST(ParseChat, NeutralValuesOfUnsupportedFieldsAreAccepted) {
  for (const std::string_view fields :
       {R"("tools":[])", R"("tools":null)", R"("tool_choice":"auto")", R"("response_format":{"type":"text"})",
        R"("service_tier":"auto")", R"("service_tier":"flex")", R"("store":true)", R"("metadata":{"a":"b"})",
        R"("parallel_tool_calls":true)", R"("logit_bias":{})", R"("stop":null)", R"("stop":"")", R"("best_of":1)",
        R"("functions":[])", R"("modalities":["text"])", R"("suffix":"")", R"("top_k":-1)"}) {
    const auto request = chat(fields);
    EXPECT_TRUE(request.ok()) << fields << ": " << request.error().message;
  }
}

TEST(ParseChat, UnsupportedFieldsThatWouldChangeTheAnswerAreRefusedByName) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {R"("tools":[{"type":"function"}])", "tools"},
      {R"("tool_choice":"required")", "tool_choice"},
      {R"("response_format":{"type":"json_object"})", "response_format"},
      {R"("response_format":{"type":"json_schema"})", "response_format"},
      {R"("functions":[{}])", "functions"},
      {R"("audio":{})", "audio"},
      {R"("modalities":["text","audio"])", "modalities"},
      {R"("best_of":2)", "best_of"},
      {R"("grammar":"root ::= x")", "grammar"},
      {R"("service_tier":"priority")", "service_tier"},
      {R"("reasoning_effort":"high")", "reasoning_effort"},
      {R"("echo":true)", "echo"},
  };
  for (const auto& [fields, field] : cases) {
    const auto request = chat(fields);
    ASSERT_FALSE(request.ok()) << fields;
    EXPECT_EQ(request.error().code, ErrorCode::kUnsupported) << fields;
    EXPECT_EQ(request.error().field, field);
  }
}

TEST(ParseChat, ImagesAndToolMessagesAreRefusedByPath) {
  const auto image = parse_chat(
      R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{}}]}]})",
      {});
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.error().field, "messages[0].content[1].type");
  EXPECT_EQ(image.error().code, ErrorCode::kUnsupported);
  const auto tool = parse_chat(R"({"messages":[{"role":"user","content":"a"},{"role":"tool","content":"x"}]})", {});
  ASSERT_FALSE(tool.ok());
  EXPECT_EQ(tool.error().field, "messages[1].role");
}

TEST(ParseChat, UnknownFieldsAreIgnoredUnlessStrict) {
  EXPECT_TRUE(chat(R"("frobnicate":1)").ok());
  ApiOptions strict;
  strict.strict = true;
  const auto request = chat(R"("frobnicate":1)", strict);
  ASSERT_FALSE(request.ok());
  EXPECT_EQ(request.error().field, "frobnicate");
  EXPECT_TRUE(chat(R"("temperature":1,"tools":[])", strict).ok());
}

TEST(ParseChat, TwoNamesOfOneSettingMustAgree) {
  EXPECT_TRUE(chat(R"("max_tokens":5,"max_completion_tokens":5)").ok());
  EXPECT_FALSE(chat(R"("max_tokens":5,"max_completion_tokens":6)").ok());
}

TEST(ParseChat, StreamOptionsNeedAStream) {
  const auto request = chat(R"("stream_options":{"include_usage":true})");
  ASSERT_FALSE(request.ok());
  EXPECT_EQ(request.error().field, "stream_options");
}

TEST(ParseCompletion, ReadsEveryShapeOfPrompt) {
  auto text = completion(R"("prompt":"abc")");
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(std::get<std::string>(text->prompts.at(0)), "abc");
  auto ids = completion(R"("prompt":[1,2,3])");
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(std::get<std::vector<TokenId>>(ids->prompts.at(0)), (std::vector<TokenId>{1, 2, 3}));
  auto texts = completion(R"("prompt":["a","b"])");
  ASSERT_TRUE(texts.ok());
  EXPECT_EQ(texts->prompts.size(), 2u);
  auto lists = completion(R"("prompt":[[1],[2,3]],"echo":true,"logprobs":5)");
  ASSERT_TRUE(lists.ok());
  EXPECT_EQ(std::get<std::vector<TokenId>>(lists->prompts.at(1)), (std::vector<TokenId>{2, 3}));
  EXPECT_TRUE(lists->echo);
  EXPECT_EQ(lists->options.sampling.top_logprobs, 5);
}

TEST(ParseCompletion, WrongPromptsAreRefusedByPath) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {{R"("prompt":5)", "prompt"},
                                                                            {R"("prompt":[])", "prompt"},
                                                                            {R"("prompt":["a",5])", "prompt[1]"},
                                                                            {R"("prompt":[1,-2])", "prompt[1]"},
                                                                            {R"("prompt":[1,"a"])", "prompt[1]"},
                                                                            {R"("prompt":[[1],[]])", "prompt[1]"},
                                                                            {R"("x":1)", "prompt"},
                                                                            {R"("prompt":[2147483648])", "prompt[0]"}};
  for (const auto& [fields, field] : cases) {
    const auto request = completion(fields);
    ASSERT_FALSE(request.ok()) << fields;
    EXPECT_EQ(request.error().field, field);
  }
}

TEST(ParseCompletion, PromptsTimesChoicesHasALimit) {
  ApiOptions options;
  options.max_choices = 4;
  EXPECT_TRUE(parse_completion(R"({"prompt":["a","b"],"n":2})", options).ok());
  const auto request = parse_completion(R"({"prompt":["a","b"],"n":3})", options);
  ASSERT_FALSE(request.ok());
  EXPECT_EQ(request.error().field, "n");
  EXPECT_NE(request.error().message.find("limit is 4"), std::string::npos);
}

TEST(ParseTokenize, TakesTextOrMessages) {
  const auto text = parse_tokenize(R"({"content":"a","with_pieces":true,"add_special":false})", {});
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(std::get<std::string>(text->input), "a");
  EXPECT_FALSE(text->add_special);
  const auto messages = parse_tokenize(chat_body(""), {});
  ASSERT_TRUE(messages.ok());
  EXPECT_TRUE(std::holds_alternative<Conversation>(messages->input));
  EXPECT_FALSE(parse_tokenize("{}", {}).ok());
}

TEST(ParseDetokenize, NeedsTokenIds) {
  const auto request = parse_detokenize(R"({"tokens":[1,2]})", {});
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->tokens, (std::vector<TokenId>{1, 2}));
  EXPECT_EQ(parse_detokenize(R"({"tokens":"x"})", {}).error().field, "tokens");
}

TEST(ParseChat, ThePromptCountsForPenaltiesUnlessTheRequestSaysOtherwise) {
  const auto counts = [](const std::string& field) {
    const auto request = parse_chat(R"({"messages":[{"role":"user","content":"hi"}])" + field + "}", {});
    return request.ok() && request->options.sampling.penalize_prompt;
  };
  EXPECT_TRUE(counts(""));
  EXPECT_TRUE(counts(R"(,"penalize_prompt":true)"));
  EXPECT_FALSE(counts(R"(,"penalize_prompt":false)"));
}

}  // namespace
}  // namespace takt::api
