// Every path the server answers. What is not in this table does not exist, and what is not marked open needs a key.
#pragma once

#include <cstdint>
#include <span>
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
  kDetokenize
};
enum class Access : std::uint8_t { kOpen, kNeedsKey };

struct EndpointRule {
  std::string_view method;
  std::string_view path;  // one that ends in '/' takes one more, non-empty part
  Access access;
  Endpoint endpoint;
};

std::span<const EndpointRule> endpoint_rules();

// The rule for a path, whatever the method; null when there is none.
const EndpointRule* find_endpoint(std::string_view path);

}  // namespace takt::serve
