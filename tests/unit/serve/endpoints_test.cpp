#include "serve/endpoints.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>

namespace takt::serve {
namespace {

TEST(Endpoints, EveryRuleStandsOnceAndOnlyHealthAndReadinessAreOpen) {
  std::set<std::pair<std::string_view, std::string_view>> rules;
  for (const EndpointRule& rule : endpoint_rules()) {
    EXPECT_TRUE(rules.insert({rule.method, rule.path}).second) << rule.path;
    const bool open = rule.path == "/health" || rule.path == "/ready";
    EXPECT_EQ(rule.access == Access::kOpen, open) << rule.path;
    EXPECT_EQ(rule.access == Access::kNeedsAdmin, rule.path.starts_with("/admin/")) << rule.path;
    const std::string path = std::string(rule.path) + (rule.path.ends_with('/') ? "x" : "");
    EXPECT_EQ(find_endpoint(path).find(rule.method), &rule) << rule.path;
    EXPECT_EQ(find_endpoint(path).access(), rule.access) << rule.path;
  }
}

TEST(Endpoints, NothingElseExists) {
  for (const std::string_view path : {"", "/", "/v1", "/v1/", "/v1/models/", "/health/", "/healthx",
                                      "/v1/chat/completions/", "/slots", "/../health"}) {
    EXPECT_TRUE(find_endpoint(path).empty()) << path;
  }
  ASSERT_NE(find_endpoint("/v1/models/a/b").find("GET"), nullptr);
  EXPECT_EQ(find_endpoint("/v1/models/a/b").find("GET")->endpoint, Endpoint::kModel);
  EXPECT_EQ(find_endpoint("/v1/models").find("HEAD")->endpoint, Endpoint::kModels);
  EXPECT_EQ(find_endpoint("/v1/models").find("POST"), nullptr);
}

}  // namespace
}  // namespace takt::serve
