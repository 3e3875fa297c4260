// Where a server is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace takt::load {

struct ServerUrl {
  bool tls = false;
  std::string host;
  std::uint16_t port = 80;
  std::string prefix;  // of every path, without "/v1" and without a slash at its end; may be empty

  // As a person would write it.
  std::string text() const;
  // What goes into the Host header.
  std::string authority() const;
};

// "http[s]://HOST[:PORT][/PREFIX][/v1]"; without a scheme it is http, and port 8080. Errors: kInvalidArgument, field
// "url".
Result<ServerUrl> parse_server_url(std::string_view text);

}  // namespace takt::load
