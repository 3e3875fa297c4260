// Limits on what a request may hold. Every one of them is named in the message of the 400 that it causes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/sampling_limits.h"

namespace takt::api {

struct ApiOptions {
  using Sampling = SamplingLimits;  // what the two limits below may be at most

  std::size_t max_json_depth = 32;
  std::uint32_t max_messages = 4096;
  std::uint32_t max_content_parts = 1024;  // of one message
  std::uint32_t max_prompts = 64;          // of one completions request
  std::uint32_t max_choices = 64;          // n, and prompts * n
  std::uint32_t max_stops = 16;
  std::size_t max_stop_bytes = 1024;  // of one stop string
  std::uint32_t max_stop_tokens = 64;
  std::uint32_t max_logit_biases = 1024;
  std::uint32_t max_top_logprobs = Sampling::kMaxTopLogprobs;
  std::uint32_t max_prompt_tokens = 4'194'304;  // ids of one token-array prompt
  std::size_t max_name_bytes = 512;             // user, model and other short names
  bool strict = false;                          // refuse fields that are not known
};

}  // namespace takt::api
