// A conversation with a server, one streamed answer at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "measure/latency.h"

namespace takt::app {

struct ChatMessage {
  std::string role;
  std::string content;
};

struct ServerAddress {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;
  std::string api_key;  // may be empty
};

struct ChatAnswer {
  std::string text;
  measure::AnswerTimes times;
  bool stopped = false;  // by the caller, before the end
};

// Sends the conversation and calls on_text for each piece as it comes. should_stop is asked a few times a second; when
// it says yes the connection is closed, which cancels the request on the server. Errors: kUnavailable (nobody listens
// there), kIo (the connection broke), the server's own error as kInvalidArgument.
Result<ChatAnswer> ask(const ServerAddress& server, const std::vector<ChatMessage>& conversation,
                       const std::function<void(std::string_view)>& on_text, const std::function<bool()>& should_stop);

}  // namespace takt::app
