#include "api/api_error.h"

#include <gtest/gtest.h>

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
