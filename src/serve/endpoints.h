// Every path the server answers. What is not in this table does not exist, and what is not marked open needs a key.
// Everything under /admin/ needs an admin key (serve/admin_access.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace takt::serve {

enum class Endpoint : std::uint8_t {
  kHealth,
  kReady,
  kMetrics,
  kModels,
  kModel,
  kChat,
  kCompletions,
  kTokenize,
  kDetokenize,
  kConfig,
  kChangeConfig,
  kRequests,
  kRequest
};
enum class Access : std::uint8_t { kOpen, kNeedsKey, kNeedsAdmin };

struct EndpointRule {
  std::string_view method;
  std::string_view path;  // one that ends in '/' takes one more, non-empty part
  Access access;
  Endpoint endpoint;
};

std::span<const EndpointRule> endpoint_rules();

// What may be done at one path.
struct PathRules {
  std::span<const EndpointRule> rules;  // one per method; empty: there is no such path

  bool empty() const { return rules.empty(); }
  Access access() const { return rules.empty() ? Access::kNeedsKey : rules.front().access; }
  // The rule for a method, HEAD being a kind of GET; null when the path does not take it.
  const EndpointRule* find(std::string_view method) const;
  // As the Allow header lists them.
  std::string allowed() const;
};
PathRules find_endpoint(std::string_view path);

}  // namespace takt::serve
