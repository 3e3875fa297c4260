#include "serve/endpoints.h"

#include <algorithm>
#include <iterator>

namespace takt::serve {

namespace {

// The methods of one path stand together and need the same access.
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
    {"GET", "/admin/config", Access::kNeedsAdmin, Endpoint::kConfig},
    {"POST", "/admin/config", Access::kNeedsAdmin, Endpoint::kChangeConfig},
    {"GET", "/admin/requests", Access::kNeedsAdmin, Endpoint::kRequests},
    {"GET", "/admin/requests/", Access::kNeedsAdmin, Endpoint::kRequest},
};

bool matches(const EndpointRule& rule, std::string_view path) {
  if (!rule.path.ends_with('/')) return path == rule.path;
  return path.size() > rule.path.size() && path.starts_with(rule.path);
}

}  // namespace

std::span<const EndpointRule> endpoint_rules() {
  return kRules;
}

const EndpointRule* PathRules::find(std::string_view method) const {
  for (const EndpointRule& rule : rules) {
    if (method == rule.method || (method == "HEAD" && rule.method == "GET")) return &rule;
  }
  return nullptr;
}

std::string PathRules::allowed() const {
  std::string methods;
  for (const EndpointRule& rule : rules) {
    if (!methods.empty()) methods += ", ";
    methods += rule.method == "GET" ? "GET, HEAD" : rule.method;
  }
  return methods;
}

PathRules find_endpoint(std::string_view path) {
  const auto* first =
      std::find_if(std::begin(kRules), std::end(kRules), [&](const auto& r) { return matches(r, path); });
  const auto* last = std::find_if(first, std::end(kRules), [&](const auto& r) { return r.path != first->path; });
  return {{first, last}};
}

}  // namespace takt::serve
