// The JSON of requests, as any server of the OpenAI API takes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace takt::load {

enum class Endpoint : std::uint8_t { kChat, kCompletions };

const char* target_of(Endpoint endpoint);

// How answers are asked for; the same for all requests of a run.
struct RequestForm {
  Endpoint endpoint = Endpoint::kChat;
  std::string model;
  bool stream = true;
  bool force_length = true;           // ignore_eos and min_tokens: not every server knows them
  bool new_limit_name = false;        // max_completion_tokens
  std::optional<double> temperature;  // empty: the server's own
};

struct Message {
  std::string role;
  std::string content;
};

// Of a completion the contents are joined by line ends.
std::string request_body(const RequestForm& form, const std::vector<Message>& messages, std::uint32_t output_tokens);

}  // namespace takt::load
