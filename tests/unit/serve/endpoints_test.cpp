#include "serve/endpoints.h"

#include <gtest/gtest.h>

#include <set>

namespace takt::serve {
namespace {

TEST(Endpoints, EveryPathStandsOnceAndOnlyHealthAndReadinessAreOpen) {
  std::set<std::string_view> paths;
  for (const EndpointRule& rule : endpoint_rules()) {
    EXPECT_TRUE(paths.insert(rule.path).second) << rule.path;
    const bool open = rule.path == "/health" || rule.path == "/ready";
    EXPECT_EQ(rule.access == Access::kOpen, open) << rule.path;
  }
}

TEST(Endpoints, NothingElseExists) {
  for (const std::string_view path : {"", "/", "/v1", "/v1/", "/v1/models/", "/health/", "/healthx",
                                      "/v1/chat/completions/", "/slots", "/../health"}) {
    EXPECT_EQ(find_endpoint(path), nullptr) << path;
  }
  ASSERT_NE(find_endpoint("/v1/models/a/b"), nullptr);
  EXPECT_EQ(find_endpoint("/v1/models/a/b")->endpoint, Endpoint::kModel);
  EXPECT_EQ(find_endpoint("/v1/models")->endpoint, Endpoint::kModels);
}

}  // namespace
}  // namespace takt::serve
