#include "serve/exchange.h"

namespace takt::serve {

void answer_json(const Exchange& exchange, int status, std::string body) {
  http::Response response;
  response.status = status;
  response.headers = answer_headers(exchange.id);
  response.body = std::move(body);
  exchange.responder->send(std::move(response));
}

void answer_error(const Exchange& exchange, const api::ApiError& error) {
  http::Response response;
  response.status = error.status;
  response.headers = answer_headers(exchange.id);
  if (error.retry_after_seconds > 0)
    response.headers.emplace_back("retry-after", std::to_string(error.retry_after_seconds));
  if (error.status == 401) response.headers.emplace_back("www-authenticate", "Bearer");
  response.body = api::error_body(error);
  exchange.responder->send(std::move(response));
}

}  // namespace takt::serve
