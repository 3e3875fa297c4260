// Typed answers: what write_answer.h turns into JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "core/finish_reason.h"
#include "core/ids.h"

namespace takt::api {

enum class AnswerKind : std::uint8_t { kChat, kCompletion };

// What every chunk of an answer repeats.
struct AnswerHead {
  AnswerKind kind = AnswerKind::kChat;
  std::string id;              // answer_id() of the request
  std::int64_t created = 0;    // seconds since 1970
  std::string model;           // the name it is served under
  bool include_usage = false;  // streams: a usage field in every chunk
  bool logprobs = false;       // was asked for: choices carry a logprobs field
};

// A token as the client sees it. Its bytes need not be whole characters.
struct ScoredToken {
  std::string bytes;
  std::optional<float> logprob;                    // empty for the first token of a prompt
  std::vector<std::pair<std::string, float>> top;  // bytes and logprob, best first
  std::uint32_t text_offset = 0;                   // characters of the choice's text before this token
};

// What is new in one choice. In a whole answer: all of it.
struct ChoiceDelta {
  std::uint32_t index = 0;
  bool first = false;  // of this choice: carries the role
  std::string text;    // valid UTF-8
  std::vector<ScoredToken> tokens;
  std::optional<FinishReason> finish;  // kStop or kLength
};

struct Usage {
  std::uint64_t prompt_tokens = 0;  // counted once, however many choices
  std::uint64_t completion_tokens = 0;
  std::uint64_t cached_tokens = 0;
};

// How the request went: the `takt` object, and the header x-takt-timing.
struct AnswerTimings {
  std::string request;  // request_name()
  std::uint64_t seed = 0;
  Duration preparing{0};  // from arrival until the engine has it in its queue
  Duration queue{0};      // from there to admission
  Duration prefill{0};    // from there to the first token
  Duration decode{0};     // from there to the end
  Duration ttft{0};       // from arrival to the first token
  Duration total{0};
  std::uint64_t cached_tokens = 0;
  std::uint32_t preemptions = 0;
  std::vector<std::pair<std::string, Duration>> waited;  // by reason, those that are not zero
};

struct ModelCard {
  std::string name;
  std::int64_t created = 0;
  std::uint32_t max_request_tokens = 0;  // prompt and output of one request
};

// "chatcmpl-" or "cmpl-" and the request's name.
std::string answer_id(AnswerKind kind, RequestId request);
// Sixteen hexadecimal digits: the name of a request in answers, headers and logs.
std::string request_name(RequestId request);
// The request of that name, or of an answer's id; empty when it is neither.
std::optional<RequestId> parse_request_name(std::string_view name);

}  // namespace takt::api
