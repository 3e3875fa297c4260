// Which web pages may call the server from a browser (the Fetch standard's CORS protocol).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/handler.h"

namespace takt::http {

class OriginPolicy {
 public:
  // As ServerOptions::cors_allowed_origins.
  explicit OriginPolicy(std::vector<std::string> allowed);

  // host: the request's Host header, for pages of this server's own origin.
  bool allows(std::string_view origin, std::string_view host) const;
  // Headers that let a page of an allowed origin read an answer.
  Headers answer_headers(std::string_view origin) const;

 private:
  std::vector<std::string> allowed_;
  bool everyone_ = false;
};

// OPTIONS with Access-Control-Request-Method: asked by a browser before the real request.
bool is_preflight(const Request& request);
// Allows the methods and exactly the headers that were asked for.
Response answer_preflight(const Request& request);

}  // namespace takt::http
