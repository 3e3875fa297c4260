#include "serve/endpoints.h"

namespace takt::serve {

namespace {

// Every path has one method.
constexpr EndpointRule kRules[] = {
    {"GET", "/health", Access::kOpen, Endpoint::kHealth},
    {"GET", "/ready", Access::kOpen, Endpoint::kReady},
    {"GET", "/metrics", Access::kNeedsKey, Endpoint::kMetrics},
    {"GET", "/v1/models", Access::kNeedsKey, Endpoint::kModels},
    {"GET", "/v1/models/", Access::kNeedsKey, Endpoint::kModel},
    {"POST", "/v1/chat/completions", Access::kNeedsKey, Endpoint::kChat},
    {"POST", "/v1/completions", Access::kNeedsKey, Endpoint::kCompletions},
    {"POST", "/v1/tokenize", Access::kNeedsKey, Endpoint::kTokenize},
    {"POST", "/v1/detokenize", Access::kNeedsKey, Endpoint::kDetokenize},
};

bool matches(const EndpointRule& rule, std::string_view path) {
  if (!rule.path.ends_with('/')) return path == rule.path;
  return path.size() > rule.path.size() && path.starts_with(rule.path);
}

}  // namespace

std::span<const EndpointRule> endpoint_rules() {
  return kRules;
}

const EndpointRule* find_endpoint(std::string_view path) {
  for (const EndpointRule& rule : kRules) {
    if (matches(rule, path)) return &rule;
  }
  return nullptr;
}

}  // namespace takt::serve
