// Answers requests while the models load, then hands them to the real handler.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "http/handler.h"

namespace takt::app {

class StartupGate final : public http::Handler {
 public:
  // From here on `handler`, which outlives the gate, gets every request.
  void open(http::Handler& handler) { handler_.store(&handler, std::memory_order_release); }
  // Why the server is not ready, for /ready and every request that comes too early.
  void set_progress(std::string reason);

  std::optional<http::Response> refuse_by_head(http::Request& head) override;
  void handle(http::Request request, std::shared_ptr<http::Responder> responder) override;

 private:
  http::Response loading(const http::Request& head);

  std::atomic<http::Handler*> handler_{nullptr};
  std::mutex mutex_;
  std::string reason_ = "loading";
};

}  // namespace takt::app
