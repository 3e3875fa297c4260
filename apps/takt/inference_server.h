// The server put together: HTTP in front, the serving side behind it, an engine per model, and what watches them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "config/server_config.h"
#include "costmodel/fit.h"
#include "engine/engine.h"
#include "http/server.h"
#include "metrics/server_metrics.h"
#include "metrics/step_log.h"
#include "metrics/timeline_json.h"
#include "metrics/timelines.h"
#include "route/router.h"
#include "runtime_config.h"
#include "servable_model.h"
#include "serve/api_handler.h"
#include "serve/config_source.h"
#include "serve/delivery.h"
#include "serve/model_registry.h"
#include "serve/status_source.h"
#include "startup_gate.h"
#include "trace/capture.h"

namespace takt::app {

class InferenceServer final : public serve::StatusSource, public Configurable {
 public:
  // Listens, and answers that models are loading. `model_names`: of the models that serve() will bring, in that order.
  // `source`: see launch(). Errors: kIo, field "host" or "port": the address; fields "step_log" and "capture": the file
  // or folder; kInvalidArgument: keys, classes and rules that do not go together.
  static Result<std::unique_ptr<InferenceServer>> listen(const config::ServerConfig& config,
                                                         std::vector<std::string> model_names,
                                                         serve::ConfigSource* source);
  ~InferenceServer() override;

  void set_progress(std::string reason) { gate_.set_progress(std::move(reason)); }
  const Clock& clock() const { return clock_; }
  std::uint16_t port() const { return http_->port(); }
  // What the HTTP server calls, for requests from inside this process.
  http::Handler& handler() { return gate_; }

  // Starts an engine per model and lets requests in. Once. Errors: a limit that contradicts the model or another limit.
  Status serve(std::vector<ServableModel> models);
  // How long steps take here, per model.
  const std::vector<StepTimeTerms>& measured_steps() const { return measured_steps_; }
  // Where the time went until they were ready, per model.
  const std::vector<StartTimes>& start_times() const { return start_times_; }
  TimePoint created() const { return created_; }
  std::size_t model_count() const { return names_.size(); }
  const std::string& model_name(std::size_t index) const { return names_[index]; }
  // Of a model that serves.
  EngineStatus status(std::size_t index) const { return engines_[index]->status(); }
  StallReport stall_report(std::size_t index) const { return engines_[index]->stall_report(); }

  // Routing, engines and their classes as configured, at this time of the day. Only after serve().
  Status reconfigure(const config::ServerConfig& config, std::int64_t unix_seconds) override;

  // Not ready from now on, nothing new is accepted; what runs may finish within `limit`, then it ends with an error.
  void begin_drain(Duration limit);
  // The time of the drain is over: what no text worker has begun with is refused.
  void refuse_waiting();
  // Waits until nothing is left; false after `wait`.
  bool wait_until_drained(Duration wait);
  // Waits until every answer's bytes are with the system; false after `wait`.
  bool wait_until_sent(Duration wait) { return http_->wait_idle(wait); }
  // Ends orderly: answers that are complete still reach their sockets.
  void stop();
  // Ends every answer and connection at once, and writes down what became of them. For a process that ends right after:
  // engines are not waited for.
  void cut();

  serve::Readiness readiness() const override;
  serve::MetricsPage metrics(bool open_metrics) const override;
  std::optional<std::string> request_json(RequestId request) const override;
  std::string requests_json(serve::WhichRequests which, std::size_t most) const override;
  void count_refusal(const RequestLabels& labels, ErrorCode reason) override { metrics_.count_refusal(labels, reason); }

 private:
  InferenceServer(const config::ServerConfig& config, std::vector<std::string> model_names, route::RoutingTable routing,
                  serve::ConfigSource* source);
  Status make_engine(ServableModel& model, ModelIndex index);
  Status open_capture();
  void describe_capture();
  http::Hooks hooks() const;
  metrics::TimelineContext timeline_context() const;
  std::optional<metrics::QueuePlace> queue_place(const metrics::Timeline& timeline) const;

  // Later members use earlier ones, so the order is that of the parts' lives.
  const config::ServerConfig config_;
  const std::vector<std::string> names_;
  SteadyClock clock_;
  const TimePoint created_ = clock_.now();
  route::Router router_;
  serve::ConfigSource* const source_;
  mutable metrics::ServerMetrics metrics_;  // a scrape reads the energy counters on
  std::unique_ptr<metrics::StepLog> step_log_;
  metrics::Timelines timelines_;
  std::unique_ptr<trace::Capture> capture_;  // null: nothing is captured
  serve::Delivery delivery_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<StepTimeTerms> measured_steps_;
  std::vector<StartTimes> start_times_;
  std::unique_ptr<serve::ModelRegistry> registry_;
  std::unique_ptr<serve::ApiHandler> handler_;
  StartupGate gate_;
  std::unique_ptr<http::Server> http_;
};

}  // namespace takt::app
