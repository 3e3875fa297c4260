#include "startup_gate.h"

#include <utility>

#include "api/api_error.h"

namespace takt::app {

void StartupGate::set_progress(std::string reason) {
  std::lock_guard lock(mutex_);
  reason_ = std::move(reason);
}

std::optional<http::Response> StartupGate::refuse_by_head(http::Request& head) {
  if (http::Handler* handler = handler_.load(std::memory_order_acquire)) return handler->refuse_by_head(head);
  return loading(head);
}

void StartupGate::handle(http::Request request, std::shared_ptr<http::Responder> responder) {
  if (http::Handler* handler = handler_.load(std::memory_order_acquire)) {
    handler->handle(std::move(request), std::move(responder));
    return;
  }
  responder->send(loading(request));
}

http::Response StartupGate::loading(const http::Request& head) {
  http::Response response;
  if (head.method == "GET" && head.path == "/health") {
    response.body = R"({"status":"ok"})";
    return response;
  }
  const bool asks_readiness = head.path == "/ready";
  api::ApiError error{503, "overloaded_error", asks_readiness ? "not_ready" : "loading", {}, {}, 1};
  {
    std::lock_guard lock(mutex_);
    error.message = reason_;
  }
  response.status = error.status;
  response.headers.emplace_back("retry-after", std::to_string(error.retry_after_seconds));
  response.body = api::error_body(error);
  return response;
}

}  // namespace takt::app
