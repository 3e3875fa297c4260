// The server's door: knows the endpoints, checks who asks, and hands bodies to the text workers.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "http/handler.h"
#include "serve/body_queue.h"
#include "serve/body_worker.h"
#include "serve/endpoints.h"
#include "serve/exchange.h"
#include "serve/options.h"
#include "serve/supersede.h"
#include "serve/worker_pool.h"

namespace takt::serve {

class ApiHandler final : public http::Handler {
 public:
  ApiHandler(ServeContext context, ServeOptions options);
  // Requests that wait for a text worker are still worked on.
  ~ApiHandler() override;

  // Path, method, key and drain are judged here, so that nobody's body is kept who may not send it.
  std::optional<http::Response> refuse_by_head(http::Request& head) override;
  void handle(http::Request request, std::shared_ptr<http::Responder> responder) override;

  // Not ready from now on; new work is refused with 503, what was accepted goes on. (The engines have a deadline of
  // their own for it.)
  void begin_drain() { draining_.store(true); }
  // Answers requests that no text worker has begun with: the time for them is over.
  void refuse_waiting();
  // Waits until nothing is with the text workers and no answer is open; false when that took longer.
  bool wait_until_idle(Duration limit) const;

 private:
  // Who asks for what, once the head has let them in.
  struct Caller final : http::HeadNote {
    const EndpointRule* rule = nullptr;
    route::Identity identity;
    route::Wishes wishes;       // of a generation request's head
    std::string supersede_key;  // empty: it takes nobody's place
  };
  using CallerPtr = std::shared_ptr<const Caller>;
  std::variant<CallerPtr, api::ApiError> let_in(const http::Request& head) const;
  std::variant<CallerPtr, api::ApiError> caller_of(const http::Request& request) const;
  std::optional<api::ApiError> judge(const http::Request& head, Caller& caller) const;
  std::optional<api::ApiError> refuse_while_draining(const Caller& caller) const;
  void supersede(const std::string& key, const ExchangePtr& exchange);
  void dispatch(const EndpointRule& rule, http::Request request, const ExchangePtr& exchange);
  void answer_ready(const Exchange& exchange) const;
  void answer_model(const Exchange& exchange, const std::string& name) const;
  void answer_metrics(bool open_metrics, const ExchangePtr& exchange);
  // `make_answer` gives the body, or an error; it may take a while.
  void answer_admin(const ExchangePtr& exchange, std::function<std::variant<std::string, api::ApiError>()> make_answer);
  void note_refusal(const Exchange& exchange, const http::Request& head, const api::ApiError& error) const;
  std::variant<std::string, api::ApiError> changed_config(const std::string& body) const;
  void post_body(Endpoint endpoint, std::string body, const ExchangePtr& exchange);
  void refuse_body(const Exchange& exchange, const api::ApiError& error);

  const ServeContext context_;
  const ServeOptions options_;
  RequestIds ids_;
  mutable route::QuotaLedger quotas_;
  SupersedeTable latest_;
  BodyWorker body_worker_;
  std::atomic<bool> draining_{false};
  WorkerPool control_workers_;  // metrics and settings: never behind anybody's prompt
  BodyQueue bodies_;            // last: its jobs use all of the above
};

}  // namespace takt::serve
