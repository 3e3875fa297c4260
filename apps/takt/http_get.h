// One GET to a server of ours.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "chat_client.h"

namespace takt::app {

// "http://HOST[:PORT][/]", "HOST:PORT" or "HOST"; port 80 where a scheme is named, 8080 where none is. Errors:
// kInvalidArgument, field "url".
Result<ServerAddress> parse_url(std::string_view url);

// The body of the answer, at most kMaxAnswerBytes. Errors: those of check(ServerAddress); kUnavailable (nobody listens
// there, or no answer within half a minute), kIo (the connection broke, or what comes is no HTTP), the server's own
// error as kInvalidArgument with its message.
Result<std::string> http_get(const ServerAddress& server, const std::string& target);

}  // namespace takt::app
