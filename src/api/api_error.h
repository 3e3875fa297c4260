// Errors as an HTTP client sees them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace takt::api {

// {"error": {"message", "type", "param", "code"}} and its status.
struct ApiError {
  int status = 500;
  std::string type;  // "invalid_request_error", ...
  std::string code;  // stable, for programs
  std::string message;
  std::string param;                      // JSON path; empty: null
  std::uint32_t retry_after_seconds = 0;  // 0: no Retry-After header
  std::string allow = {};                 // 405: the Allow header
};

// 429 is the caller's own limit, 503 the server's (full, loading, draining, waited too long); both say when to come
// back. For kUnavailable and kResourceExhausted, `field` is taken for the code when it is set.
ApiError to_api_error(const Error& error);

ApiError unauthorized();
// The caller is known, or nobody is asked for a key, but only administrators may do this.
ApiError admin_needed(bool server_has_keys);
ApiError unknown_path(std::string_view path);
ApiError method_not_allowed(std::string_view method, std::string_view allowed);
ApiError draining(std::uint32_t retry_after_seconds);
// For what the HTTP server refuses by itself (limits, timeouts, syntax): its status and one sentence.
ApiError http_error(int status, std::string_view reason);

// The code of superseded(): 409, and not to be tried again.
inline constexpr const char* kSuperseded = "superseded";
Error superseded();

// Errors about what a request asks for, in the words of the API.
Error unknown_model(std::string_view asked, const std::vector<std::string>& available);
// `field`: where the prompt stands in the request.
Error context_length_exceeded(std::uint64_t prompt_tokens, std::uint32_t limit, std::string field);
// For a prompt so long that its tokens were not all counted.
Error context_length_far_exceeded(std::uint64_t more_than, std::uint32_t limit, std::string field);

std::string error_body(const ApiError& error);

}  // namespace takt::api
