// What the server asks its owner for. Everything is called on network threads, must not block, and must be safe from
// several threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "http/handler.h"

namespace takt::http {

// Facts about one answered request. Never a query, a header or a body.
struct AccessRecord {
  enum class Outcome {
    kCompleted,  // the whole answer was handed to the system
    kRejected,   // the server itself answered: the request was over a limit or not valid
    kAborted,    // by the handler
    kClientGone,
    kSlowReader,
  };

  std::string method;  // empty when the request's head could not be read
  std::string path;
  std::string peer;
  int status = 0;  // 0 when there was no answer
  std::uint64_t bytes_sent = 0;
  std::chrono::nanoseconds duration{0};  // from the request's first byte
  Outcome outcome = Outcome::kCompleted;
};

struct Hooks {
  // The answer for a request that the server itself refuses: an HTTP status and one sentence. Default: the sentence as
  // plain text.
  std::function<Response(int status, std::string_view reason)> render_error;
  std::function<void(const AccessRecord&)> on_access;
};

}  // namespace takt::http
