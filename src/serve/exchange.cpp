#include "serve/exchange.h"

namespace takt::serve {

void leave_quota(const Exchange& exchange, std::uint64_t answer_tokens) {
  if (exchange.quota == nullptr) return;
  if (answer_tokens > 0) exchange.quota->charge_answer(answer_tokens);
  exchange.quota->release();
}

void answer_json(const Exchange& exchange, int status, std::string body) {
  http::Response response;
  response.status = status;
  response.headers = answer_headers(exchange.id);
  response.body = std::move(body);
  exchange.responder->send(std::move(response));
}

http::Response error_response(const api::ApiError& error) {
  http::Response response;
  response.status = error.status;
  if (error.retry_after_seconds > 0)
    response.headers.emplace_back("retry-after", std::to_string(error.retry_after_seconds));
  if (error.status == 401) response.headers.emplace_back("www-authenticate", "Bearer");
  if (error.status == 415) response.headers.emplace_back("accept-encoding", "identity");
  if (error.code == api::kSuperseded) response.headers.emplace_back("x-should-retry", "false");
  if (!error.allow.empty()) response.headers.emplace_back("allow", error.allow);
  response.body = api::error_body(error);
  return response;
}

http::Response error_response(RequestId id, const api::ApiError& error) {
  http::Response response = error_response(error);
  for (auto& header : answer_headers(id)) response.headers.push_back(std::move(header));
  return response;
}

void answer_error(const Exchange& exchange, const api::ApiError& error) {
  leave_quota(exchange, 0);
  api::ApiError shown = error;
  if (exchange.load != nullptr) exchange.load->predict_retry(shown);
  exchange.responder->send(error_response(exchange.id, shown));
}

}  // namespace takt::serve
