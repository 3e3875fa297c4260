#include "api/api_error.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace takt::api {
namespace {

// A18: overload is never a 500 and always says when to come back.
TEST(ApiErrors, OverloadIs429Or503WithRetryAfterAndACode) {
  const ApiError own = to_api_error({ErrorCode::kResourceExhausted, "too many", {}});
  EXPECT_EQ(own.status, 429);
  EXPECT_EQ(own.code, "rate_limit_exceeded");
  EXPECT_GT(own.retry_after_seconds, 0u);
  const ApiError full = to_api_error({ErrorCode::kUnavailable, "full", {}});
  EXPECT_EQ(full.status, 503);
  EXPECT_EQ(full.code, "server_overloaded");
  EXPECT_GT(full.retry_after_seconds, 0u);
  EXPECT_EQ(to_api_error({ErrorCode::kUnavailable, "draining", "draining"}).code, "draining");
  EXPECT_EQ(to_api_error({ErrorCode::kExpired, "late", {}}).code, "queue_wait_expired");
  EXPECT_EQ(to_api_error({ErrorCode::kExpired, "late", {}}).status, 503);
}

// H6: a program can tell one reason to be refused from another, and "there is nothing" from "there is no room".
TEST(ApiErrors, EveryKindOfRefusalHasItsOwnCode) {
  const std::vector<std::pair<ApiError, int>> refusals = {
      {to_api_error(unknown_model("a", {"b"})), 404},
      {to_api_error({ErrorCode::kUnavailable, "the model is gone", "model_unavailable"}), 503},
      {to_api_error({ErrorCode::kUnavailable, "the queue is full", "queue_full"}), 503},
      {to_api_error({ErrorCode::kResourceExhausted, "your own limit", {}}), 429},
      {to_api_error({ErrorCode::kExpired, "waited too long", {}}), 503},
      {draining(5), 503},
      {http_error(503, "connections"), 503},
      {to_api_error({ErrorCode::kUnavailable, "busy", {}}), 503},
      {to_api_error(context_length_exceeded(2, 1, "prompt")), 400},
      {to_api_error({ErrorCode::kUnsupported, "no", "tools"}), 400},
      {to_api_error(Error::invalid("n", "no")), 400},
      {unauthorized(), 401},
  };
  std::set<std::string> codes;
  for (const auto& [error, status] : refusals) {
    EXPECT_EQ(error.status, status) << error.code;
    EXPECT_TRUE(codes.insert(error.code).second) << error.code;
    EXPECT_EQ(error.retry_after_seconds > 0, status == 429 || status == 503) << error.code;
  }
}

TEST(ApiErrors, HaveTheShapeThatClientsRead) {
  EXPECT_EQ(
      error_body(to_api_error(Error::invalid("top_p", "'top_p' is wrong"))),
      R"({"error":{"message":"'top_p' is wrong","type":"invalid_request_error","param":"top_p","code":"invalid_value"}})");
  EXPECT_EQ(error_body(to_api_error(Error::internal("oops"))),
            R"({"error":{"message":"oops","type":"server_error","param":null,"code":"internal_error"}})");
}

// D8
TEST(ApiErrors, ContextOverflowNamesBothNumbers) {
  const ApiError error = to_api_error(context_length_exceeded(5000, 4096, "messages"));
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.code, "context_length_exceeded");
  EXPECT_EQ(error.param, "messages");
  EXPECT_NE(error.message.find("5000"), std::string::npos);
  EXPECT_NE(error.message.find("4096"), std::string::npos);
}

TEST(ApiErrors, AWrongModelNameIsA404WithTheNamesThereAre) {
  const ApiError error = to_api_error(unknown_model("gpt", {"a", "b"}));
  EXPECT_EQ(error.status, 404);
  EXPECT_EQ(error.code, "model_not_found");
  EXPECT_NE(error.message.find("a, b"), std::string::npos);
}

TEST(ApiErrors, ForeignBytesInAMessageStayValidJson) {
  EXPECT_NE(error_body(unknown_path("/\xFF")).find("\xEF\xBF\xBD"), std::string::npos);
}

}  // namespace
}  // namespace takt::api
