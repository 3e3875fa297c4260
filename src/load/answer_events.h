// What a chunk, or a whole answer, of the OpenAI API says that matters for measuring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace takt::load {

struct AnswerEvent {
  bool has_token = false;  // text, reasoning or a tool call, and it is not empty
  std::string text;        // of the first choice
  bool finished = false;
  std::optional<std::string> error;  // its message
  std::string error_code;
  std::optional<std::uint32_t> prompt_tokens;
  std::optional<std::uint32_t> completion_tokens;
  std::optional<std::uint32_t> cached_tokens;
  std::optional<std::uint32_t> preemptions;  // Takt's own
  std::optional<Duration> queue;             // Takt's own

  bool operator==(const AnswerEvent&) const = default;
};

inline constexpr std::size_t kMaxEventDepth = 32;  // of nested lists and objects

// Errors: kInvalidArgument: no JSON object, or nested too deep.
Result<AnswerEvent> read_answer_event(std::string_view json, bool keep_text);

}  // namespace takt::load
