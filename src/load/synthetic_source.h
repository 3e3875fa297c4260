// Open loads that are drawn: one class's requests, and several classes as one stream.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "load/planned_request.h"

namespace takt::load {

struct OpenLoad {
  std::uint32_t class_index = 0;
  std::function<std::optional<Duration>()> next_arrival;  // ascending; empty: no more
  DrawTokens prompt;
  DrawTokens output;
  std::string application;
  std::string tenant;
  std::uint64_t seed = 1;
  std::uint32_t shared_prefix_tokens = 0;  // leading tokens that all its prompts have in common
  double cancel_share = 0.0;               // of its requests; each is cancelled after `cancel_after`
  Duration cancel_after{0};
};

std::unique_ptr<RequestSource> make_open_source(OpenLoad load);

// By instant; of equal instants the earlier source's request comes first.
std::unique_ptr<RequestSource> merge_sources(std::vector<std::unique_ptr<RequestSource>> sources);

}  // namespace takt::load
