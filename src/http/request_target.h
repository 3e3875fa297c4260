// The target of a request line (RFC 9112, section 3.2) as path and query.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace takt::http {

struct RequestTarget {
  std::string path;   // percent-decoded; "*" for the asterisk form
  std::string query;  // raw
};

// Origin, absolute and asterisk forms. Empty for anything else, for a broken percent escape, and for one that hides a
// control character.
std::optional<RequestTarget> parse_target(std::string_view target);

}  // namespace takt::http
