// A conversation with a server, one streamed answer at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
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

// How to answer; what is empty is the server's own.
struct AnswerSettings {
  std::optional<double> temperature;
  std::optional<std::uint32_t> max_tokens;
};

// Both go into the head of a request, so nothing may stand in them that would end a line of it. Errors:
// kInvalidArgument, field "host" or "api_key"; the key is not repeated.
Status check(const ServerAddress& server);
// HOST:PORT as a URL and the Host header write it.
std::string authority(const ServerAddress& server);

struct ChatAnswer {
  std::string text;   // as the model gave it, at most kMaxAnswerBytes
  std::string model;  // as the server calls it
  measure::AnswerTimes times;
  bool stopped = false;  // by the caller, before the end
};
inline constexpr std::size_t kMaxAnswerBytes = std::size_t{16} << 20;

// Sends the conversation and calls on_text for each piece as it comes. should_stop is asked a few times a second; when
// it says yes the connection is closed, which cancels the request on the server. Whatever the server sends, what is
// kept of it is bounded. Errors: those of check(); kUnavailable (nobody listens there), kIo (the connection broke, or
// what comes is not an answer), kResourceExhausted (an answer beyond a limit), the server's own error as
// kInvalidArgument. Names and messages of a server are any text: fit for a terminal only after terminal_line().
Result<ChatAnswer> ask(const ServerAddress& server, const std::vector<ChatMessage>& conversation,
                       const AnswerSettings& settings, const std::function<void(std::string_view)>& on_text,
                       const std::function<bool()>& should_stop);

}  // namespace takt::app
