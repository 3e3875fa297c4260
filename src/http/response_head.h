// The status line and headers of an answer as bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "http/handler.h"

namespace takt::http {

// How one request's answer must be framed.
struct Framing {
  bool http11 = true;
  bool keep_alive = false;
  bool head_only = false;  // HEAD
  Headers extra = {};      // CORS
};

enum class BodyFraming { kNone, kLength, kChunked, kUntilClose };

// What the answer's first bytes are, whatever its status.
std::string_view version_prefix(const Framing& framing);

// 1xx, 204 and 304 have no body (RFC 9110, section 6.4.1).
bool status_has_body(int status);

// The body of `response` is not appended; body_bytes counts for kLength only. A status outside 100..999 is sent as 500.
void append_head(std::string& out, const Response& response, const Framing& framing, BodyFraming body,
                 std::size_t body_bytes);

}  // namespace takt::http
