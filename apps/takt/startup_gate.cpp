#include "startup_gate.h"

#include <utility>

#include "api/api_error.h"

namespace takt::app {

void StartupGate::set_progress(std::string reason) {
  std::lock_guard lock(mutex_);
  reason_ = std::move(reason);
}

void StartupGate::handle(http::Request request, std::shared_ptr<http::Responder> responder) {
  if (http::Handler* handler = handler_.load(std::memory_order_acquire)) {
    handler->handle(std::move(request), std::move(responder));
    return;
  }
  http::Response response;
  if (request.method == "GET" && request.path == "/health") {
    response.body = R"({"status":"ok"})";
    responder->send(std::move(response));
    return;
  }
  const bool asks_readiness = request.path == "/ready";
  api::ApiError error{503, "overloaded_error", asks_readiness ? "not_ready" : "loading", {}, {}, 1};
  {
    std::lock_guard lock(mutex_);
    error.message = reason_;
  }
  response.status = error.status;
  response.headers.emplace_back("retry-after", std::to_string(error.retry_after_seconds));
  response.body = api::error_body(error);
  responder->send(std::move(response));
}

}  // namespace takt::app
