// F1, F2, F3: what must come back as a clear 400.
#include <gtest/gtest.h>

#include <string>

#include "api/parse_request.h"

namespace takt::api {
namespace {

struct NumericField {
  std::string_view name;
  bool integer;
  double lowest;
  double highest;
};

constexpr double kMaxInt32 = 2147483647.0;
constexpr NumericField kFields[] = {
    {"temperature", false, 0, 10},
    {"top_p", false, 0, 1},
    {"top_k", true, -1, kMaxInt32},
    {"min_p", false, 0, 1},
    {"typical_p", false, 1e-6, 1},
    {"repetition_penalty", false, 0.01, 10},
    {"repeat_penalty", false, 0.01, 10},
    {"presence_penalty", false, -2, 2},
    {"frequency_penalty", false, -2, 2},
    {"repeat_last_n", true, -1, kMaxInt32},
    {"n", true, 1, 64},
    {"max_tokens", true, 1, kMaxInt32},
    {"max_completion_tokens", true, 1, kMaxInt32},
    {"min_tokens", true, 0, kMaxInt32},
};

struct Literal {
  std::string_view text;
  double value;
};
constexpr Literal kLiterals[] = {
    {"-1", -1},
    {"0", 0},
    {"1", 1},
    {"-0.5", -0.5},
    {"0.5", 0.5},
    {"1.5", 1.5},
    {"10", 10},
    {"10.001", 10.001},
    {"65", 65},
    {"1e6", 1e6},
    {"2147483647", 2147483647.0},
    {"2147483648", 2147483648.0},
    {"-2147483649", -2147483649.0},
    {"4294967296", 4294967296.0},
    {"9223372036854775807", 9.3e18},
    {"9223372036854775808", 9.3e18},
    {"18446744073709551616", 1.9e19},
    {"-9223372036854775809", -9.3e18},
    {"1e300", 1e300},
    {"-1e300", -1e300},
};

Result<ChatRequest> with(std::string_view field, std::string_view value) {
  return parse_chat(
      R"({"messages":[{"role":"user","content":"x"}],")" + std::string(field) + "\":" + std::string(value) + "}", {});
}

// F1
TEST(NumericFields, TakeWhatIsInRangeAndRefuseTheRestByName) {
  for (const NumericField& field : kFields) {
    for (const Literal& literal : kLiterals) {
      const bool whole = literal.value == static_cast<double>(static_cast<long double>(literal.value)) &&
                         literal.text.find('.') == std::string_view::npos &&
                         literal.text.find("e-") == std::string_view::npos;
      const bool fits = literal.value >= field.lowest && literal.value <= field.highest && (!field.integer || whole);
      const auto request = with(field.name, literal.text);
      ASSERT_EQ(request.ok(), fits) << field.name << " = " << literal.text;
      if (!fits) {
        EXPECT_EQ(request.error().code, ErrorCode::kInvalidArgument);
        EXPECT_EQ(request.error().field, field.name);
        EXPECT_NE(request.error().message.find("from "), std::string::npos) << request.error().message;
      }
    }
  }
}

// F1: the numbers that are no field of their own, and those whose range depends on the endpoint.
TEST(NumericFields, TokenIdsAndLogprobsHaveRangesToo) {
  const auto complete = [](std::string_view fields) { return parse_completion("{" + std::string(fields) + "}", {}); };
  for (const Literal& literal : kLiterals) {
    const std::string text(literal.text);
    const bool whole = text.find('.') == std::string::npos;
    const bool is_id = whole && literal.value >= 0 && literal.value <= kMaxInt32;
    const bool is_top = whole && literal.value >= 0 && literal.value <= 20;
    const bool is_bias = literal.value >= -100 && literal.value <= 100;
    EXPECT_EQ(complete(R"("prompt":[)" + text + "]").ok(), is_id) << text;
    EXPECT_EQ(complete(R"("prompt":"x","stop_token_ids":[)" + text + "]").ok(), is_id) << text;
    EXPECT_EQ(parse_detokenize(R"({"tokens":[)" + text + "]}", {}).ok(), is_id) << text;
    EXPECT_EQ(complete(R"("prompt":"x","logprobs":)" + text).ok(), is_top) << text;
    EXPECT_EQ(with("logprobs", R"(true,"top_logprobs":)" + text).ok(), is_top) << text;
    EXPECT_EQ(complete(R"("prompt":"x","logit_bias":{"5":)" + text + "}").ok(), is_bias) << text;
  }
}

// F1: never another number than the one that was written.
TEST(NumericFields, RefuseNumbersTooCloseToZeroToBeKept) {
  for (const NumericField& field : kFields) {
    for (const std::string_view value : {"1e-39", "-1e-39", "1e-300", "1e-400", "-1e-400", "0.1e-99999"}) {
      const auto request = with(field.name, value);
      ASSERT_FALSE(request.ok()) << field.name << " = " << value;
      EXPECT_EQ(request.error().field, field.name);
      EXPECT_FALSE(request.error().message.empty());
    }
  }
  EXPECT_NE(with("temperature", "1e-39").error().message.find("1.2e-38"), std::string::npos);
  EXPECT_EQ(with("temperature", "1e-30")->options.sampling.temperature, 1e-30F);
  EXPECT_EQ(with("temperature", "0e-400")->options.sampling.temperature, 0.0F);
}

// F1: a whole number may be written in any way that means it exactly.
TEST(NumericFields, WholeNumbersAreTakenExactlyOrRefused) {
  for (const std::string_view value : {"5", "5.0", "5.000", "5e0", "50e-1", "0.5e1", "0.05E+2", "500000e-5"})
    EXPECT_EQ(with("max_tokens", value)->options.max_tokens, 5u) << value;
  for (const std::string_view value : {"5.0000000000000000000001", "4.9999999999999999999999", "5e-1", "5.5"})
    EXPECT_EQ(with("max_tokens", value).error().field, "max_tokens") << value;
}

// F1, F3
TEST(NumericFields, RefuseOtherTypesAndNumbersThatJsonDoesNotHave) {
  for (const NumericField& field : kFields) {
    for (const std::string_view value : {"\"1\"", "true", "[]", "{}", "\"NaN\""}) {
      const auto request = with(field.name, value);
      ASSERT_FALSE(request.ok()) << field.name << " = " << value;
      EXPECT_EQ(request.error().field, field.name);
    }
    for (const std::string_view value : {"NaN", "Infinity", "-Infinity", "1e400", "-1e400", "0x10", "1e99999999999"}) {
      EXPECT_FALSE(with(field.name, value).ok()) << field.name << " = " << value;
    }
  }
}

// F3
TEST(NumericFields, AbsurdSamplingValuesAreRefusedByName) {
  EXPECT_EQ(with("temperature", "1e6").error().field, "temperature");
  EXPECT_EQ(with("top_p", "-1").error().field, "top_p");
  EXPECT_EQ(with("repetition_penalty", "0").error().field, "repetition_penalty");
}

// Of a list or an object, the element at fault is named.
TEST(Elements, AreNamedByIndexOrKey) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {R"("logit_bias":{"1":1e9})", "logit_bias.1"},
      {R"("logit_bias":{"1":1,"123":"a"})", "logit_bias.123"},
      {R"("logit_bias":{"1":1e-400})", "logit_bias.1"},
      {R"("logit_bias":{"-1":1})", "logit_bias.-1"},
      {R"("logit_bias":{"x":1})", "logit_bias.x"},
      {R"("logit_bias":{"007":1})", "logit_bias.007"},
      {R"("logit_bias":[])", "logit_bias"},
      {R"("stop":["a",5])", "stop[1]"},
      {R"("stop_token_ids":[1,2,-3])", "stop_token_ids[2]"},
      {R"("stop_token_ids":[1,4294967296])", "stop_token_ids[1]"},
      {R"("stream":true,"stream_options":{"include_usage":1})", "stream_options.include_usage"},
      {R"("prompt":[1,2,3,"x"])", "prompt[3]"},
      {R"("prompt":["x",5])", "prompt[1]"},
      {R"("prompt":[[1],[2,1.5]])", "prompt[1][1]"},
      {R"("prompt":[[1],[]])", "prompt[1]"},
  };
  for (const auto& [fields, path] : cases) {
    const std::string prompt = fields.find("prompt") == std::string_view::npos ? R"(,"prompt":"x")" : "";
    const auto request = parse_completion("{" + std::string(fields) + prompt + "}", {});
    ASSERT_FALSE(request.ok()) << fields;
    EXPECT_EQ(request.error().field, path) << request.error().message;
    EXPECT_NE(request.error().message.find("'" + std::string(path) + "'"), std::string::npos);
  }
}

TEST(Elements, OfTemplateVariablesAreTakenAsWrittenOrNamed) {
  const auto taken = with("chat_template_kwargs", R"({"a":5.0,"b":9223372036854775807,"c":0.1})");
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->conversation.template_kwargs, R"({"a":5E0,"b":9223372036854775807,"c":1E-1})");
  EXPECT_EQ(with("chat_template_kwargs", R"({"a":[0,{"b":1e-400}]})").error().field, "chat_template_kwargs.a[1].b");
  EXPECT_EQ(with("chat_template_kwargs", R"({"a":18446744073709551616})").error().field, "chat_template_kwargs.a");
  EXPECT_EQ(with("chat_template_kwargs", R"({"tools":[]})").error().field, "chat_template_kwargs.tools");
}

TEST(Elements, ThatNobodyKnowsAreRefusedInStrictMode) {
  ApiOptions strict;
  strict.strict = true;
  const auto field_of = [&](std::string_view body) { return parse_chat(body, strict).error().field; };
  EXPECT_EQ(field_of(R"({"messages":[{"role":"user","content":[{"type":"text","text":"x","why":1}]}]})"),
            "messages[0].content[0].why");
  EXPECT_EQ(field_of(R"({"messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"why":1}})"),
            "stream_options.why");
}

TEST(NumericFields, SeedTakesAny64BitIntegerAndNothingElse) {
  EXPECT_EQ(with("seed", "-1")->options.seed, 0xFFFFFFFFFFFFFFFFull);
  EXPECT_EQ(with("seed", "0")->options.seed, 0u);
  EXPECT_EQ(with("seed", "18446744073709551615")->options.seed, 18446744073709551615ull);
  EXPECT_EQ(with("seed", "18446744073709551615.0")->options.seed, 18446744073709551615ull);
  EXPECT_EQ(with("seed", "1.8446744073709551615e19")->options.seed, 18446744073709551615ull);
  EXPECT_EQ(with("seed", "9007199254740993.0")->options.seed, 9007199254740993ull) << "no double, and taken exactly";
  EXPECT_EQ(with("seed", "-9223372036854775808")->options.seed, 0x8000000000000000ull);
  for (const std::string_view value : {"18446744073709551616", "-9223372036854775809", "-9.223372036854775809e18",
                                       "1e20", "-1e19", "1e-400", "1e400"}) {
    const auto request = with("seed", value);
    ASSERT_FALSE(request.ok()) << value;
    EXPECT_EQ(request.error().field, "seed") << value;
    EXPECT_NE(request.error().message.find("from -9223372036854775808 to 18446744073709551615"), std::string::npos);
  }
  EXPECT_EQ(with("seed", "1.5").error().field, "seed");
  EXPECT_EQ(with("seed", "\"1\"").error().field, "seed");
}

TEST(HostileText, IsRefusedBeforeAnythingIsBuiltFromIt) {
  for (const std::string& body : {std::string(""), std::string("["), std::string("{"), std::string("null"),
                                  std::string("[]"), std::string("{} x"), std::string("\xFF"),
                                  std::string(R"({"messages":[{"role":"user","content":")") + "\xC3\x28" + "\"}]}",
                                  std::string(R"({"messages":[{"role":"user","content":"\ud800"}]})"),
                                  std::string(R"({"messages":[{"role":"user","content":"\udc00\ud800"}]})")}) {
    const auto request = parse_chat(body, {});
    ASSERT_FALSE(request.ok()) << body;
    EXPECT_EQ(request.error().code, ErrorCode::kInvalidArgument);
    EXPECT_FALSE(request.error().message.empty());
  }
}

// F2
TEST(HostileText, DeepNestingIsRefusedWithTheLimit) {
  for (const char* bracket : {"[", "{\"a\":"}) {
    std::string body = "{\"messages\":";
    for (int i = 0; i < 60000; ++i) body += bracket;
    const auto request = parse_chat(body, {});
    ASSERT_FALSE(request.ok());
    EXPECT_NE(request.error().message.find("32 levels"), std::string::npos) << request.error().message;
  }
}

TEST(HostileText, TooManyMessagesAreRefusedWithTheLimit) {
  std::string body = "{\"messages\":[";
  for (int i = 0; i < 100'000; ++i) body += std::string(i > 0 ? "," : "") + R"({"role":"user","content":"x"})";
  const auto request = parse_chat(body + "]}", {});
  ASSERT_FALSE(request.ok());
  EXPECT_EQ(request.error().field, "messages");
  EXPECT_NE(request.error().message.find("limit is 4096"), std::string::npos);
}

TEST(HostileText, StopsHaveLimits) {
  std::string many = "[";
  for (int i = 0; i < 17; ++i) many += i > 0 ? ",\"x\"" : "\"x\"";
  EXPECT_EQ(with("stop", many + "]").error().field, "stop");
  EXPECT_EQ(with("stop", "\"" + std::string(1025, 'x') + "\"").error().field, "stop");
  EXPECT_EQ(with("stop", "[\"a\",5]").error().field, "stop[1]");
  EXPECT_EQ(with("stop", "5").error().field, "stop");
}

TEST(HostileText, WrongMessagesAreRefusedByPath) {
  const std::vector<std::pair<std::string_view, std::string_view>> cases = {
      {R"({"messages":"x"})", "messages"},
      {R"({"messages":[]})", "messages"},
      {R"({})", "messages"},
      {R"({"messages":["x"]})", "messages[0]"},
      {R"({"messages":[{"content":"x"}]})", "messages[0].role"},
      {R"({"messages":[{"role":"alien","content":"x"}]})", "messages[0].role"},
      {R"({"messages":[{"role":5,"content":"x"}]})", "messages[0].role"},
      {R"({"messages":[{"role":"user"}]})", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":5}]})", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":[5]}]})", "messages[0].content[0]"},
      {R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})", "messages[0].content[0].text"},
      {R"({"messages":[{"role":"user","content":[{"text":"x"}]}]})", "messages[0].content[0].type"},
  };
  for (const auto& [body, field] : cases) {
    const auto request = parse_chat(body, {});
    ASSERT_FALSE(request.ok()) << body;
    EXPECT_EQ(request.error().field, field) << body << ": " << request.error().message;
  }
}

}  // namespace
}  // namespace takt::api
