// The whole server on the fake executor: real sockets, real engine thread, no model.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "exec/fake/fake_executor.h"
#include "http/server.h"
#include "metrics/timeline_json.h"
#include "metrics/timelines.h"
#include "route/router.h"
#include "serve/api_handler.h"

namespace takt::test {

struct FakeServerSettings {
  std::string script = "length=8";     // see exec/fake/fake_script.h
  SpendTime spend = sleep_for_real();  // what a step does with its cost, on the engine thread
  EngineOptions engine;
  serve::ServeOptions serve;
  http::ServerOptions http;
  std::vector<route::ApiKey> keys;
};

// Default settings around a script.
FakeServerSettings script(std::string text);

class FakeServer final : public serve::StatusSource {
 public:
  // Null, with a failure of the test, when a part cannot be started.
  static std::unique_ptr<FakeServer> start(FakeServerSettings settings);
  ~FakeServer() override;

  std::uint16_t port() const { return http_->port(); }
  Engine& engine() { return *engine_; }
  serve::ApiHandler& handler() { return *handler_; }
  // Waits until nothing runs, nothing waits and no block is owned; false when it takes too long.
  bool wait_free() const;

  serve::Readiness readiness() const override;
  serve::MetricsPage metrics(bool /*open_metrics*/) const override { return {"text/plain", {}}; }
  std::optional<std::string> request_json(RequestId request) const override;
  std::string requests_json(serve::WhichRequests which, std::size_t most) const override;
  void count_refusal(const RequestLabels&, ErrorCode) override {}

 private:
  explicit FakeServer(FakeServerSettings settings);
  bool build();
  metrics::TimelineContext timeline_context() const;

  FakeServerSettings settings_;
  SteadyClock clock_;
  metrics::Timelines timelines_{100};
  serve::Delivery delivery_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<route::Router> router_;
  std::unique_ptr<serve::ModelRegistry> models_;
  std::unique_ptr<serve::ApiHandler> handler_;
  std::unique_ptr<http::Server> http_;
};

// Waits until the condition holds; false when it takes too long.
template <typename Condition>
bool eventually(Condition condition, std::chrono::milliseconds limit = std::chrono::seconds(20)) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace takt::test
