// What a client asks for, checked and typed. Nothing here knows how it was written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "core/sampling_params.h"

namespace takt::api {

// What chat and plain completions share.
struct GenerationOptions {
  std::string model;  // as asked for; empty when absent
  std::string user;
  std::string service_tier;  // auto, default or flex; empty when absent
  bool stream = false;
  bool include_usage = false;
  std::uint32_t choices = 1;
  std::vector<std::string> stops;  // none empty
  std::vector<TokenId> stop_tokens;
  std::optional<std::uint32_t> max_tokens;
  std::uint32_t min_tokens = 0;
  bool ignore_eos = false;
  bool use_prefix_cache = true;
  std::optional<std::uint64_t> seed;
  SamplingParams sampling;  // its seed is not set yet

  bool wants_logprobs() const { return sampling.top_logprobs >= 0; }
};

// The conversation as a template sees it, in JSON text so that key order is kept.
struct Conversation {
  std::string messages;         // an array of {"role", "content", ...}; content is always a string
  std::string template_kwargs;  // an object, may be empty text
  bool add_generation_prompt = true;
  bool continue_final_message = false;
};

struct ChatRequest {
  GenerationOptions options;
  Conversation conversation;
};

using Prompt = std::variant<std::string, std::vector<TokenId>>;

struct CompletionRequest {
  GenerationOptions options;
  std::vector<Prompt> prompts;  // at least one
  bool echo = false;
};

struct TokenizeRequest {
  std::string model;
  std::variant<std::string, Conversation> input;
  bool add_special = true;
  bool parse_special = true;  // plain text only: control tokens written in it become tokens
  bool with_pieces = false;
};

struct DetokenizeRequest {
  std::string model;
  std::vector<TokenId> tokens;
};

}  // namespace takt::api
