#include "inference_server.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "api/answer.h"
#include "api/api_error.h"
#include "base/log.h"
#include "costmodel/linear_model.h"
#include "engine/warm_up.h"
#include "route/local_time.h"
#include "serve/exchange.h"
#include "version.h"

namespace takt::app {
namespace {

std::int64_t unix_nanoseconds() {
  return std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()).count();
}

const char* outcome_name(http::AccessRecord::Outcome outcome) {
  using Outcome = http::AccessRecord::Outcome;
  switch (outcome) {
    case Outcome::kCompleted:
      return "completed";
    case Outcome::kRejected:
      return "rejected";
    case Outcome::kAborted:
      return "aborted";
    case Outcome::kClientGone:
      return "client_gone";
    case Outcome::kSlowReader:
      break;
  }
  return "slow_reader";
}

metrics::KvOwners kv_owners(const EngineStatus& status, TimePoint now) {
  metrics::KvOwners owners{status.blocks_owned - status.blocks_unused,
                           status.blocks_unused,
                           status.blocks_lingering,
                           status.blocks_kept,
                           status.blocks_realtime,
                           status.blocks_batch,
                           status.blocks_free};
  // The engine says it anew with its next step, which may be a long time off. Only realtime turns linger.
  if (now >= status.linger_end) owners.cache_realtime += std::exchange(owners.linger, 0U);
  return owners;
}

EngineOptions engine_options(const config::ServerConfig& config, const route::RoutingTable& routing, ModelIndex model) {
  EngineOptions options = config.engine;
  options.model = model;
  options.sched.classes = routing.classes.engine_table();
  return options;
}

}  // namespace

InferenceServer::InferenceServer(const config::ServerConfig& config, std::vector<std::string> model_names,
                                 route::RoutingTable routing, serve::ConfigSource* source)
    : config_(config),
      names_(std::move(model_names)),
      router_(std::move(routing)),
      source_(source),
      metrics_(names_, {build_info(), config.process.metrics_compat == "vllm", api::request_name}, clock_),
      timelines_(config.process.kept_requests),
      delivery_(clock_, {&timelines_}) {}

InferenceServer::~InferenceServer() {
  stop();
}

Result<std::unique_ptr<InferenceServer>> InferenceServer::listen(const config::ServerConfig& config,
                                                                 std::vector<std::string> model_names,
                                                                 serve::ConfigSource* source) {
  auto routing = route::RoutingTable::create(config.route, route::local_time(system_unix_seconds()), nullptr);
  if (!routing) return routing.error();
  std::unique_ptr<InferenceServer> server(new InferenceServer(config, model_names, std::move(*routing), source));
  if (!config.process.step_log.empty()) {
    auto log =
        metrics::StepLog::open({config.process.step_log, config.process.step_log_bytes, config.process.step_log_files},
                               model_names, unix_nanoseconds());
    if (!log) return log.error();
    server->step_log_ = std::move(*log);
  }
  if (const Status capturing = server->open_capture(); !capturing) return capturing.error();
  auto http = http::Server::start(config.http, server->hooks(), server->gate_);
  if (!http) return http.error();
  server->http_ = std::move(*http);
  return server;
}

Status InferenceServer::open_capture() {
  if (config_.capture.folder.empty()) return {};
  trace::Capture::Setting setting;
  setting.options = config_.capture;
  setting.block_tokens = config_.compute.block_tokens;
  setting.server = version_line();
  auto capture = trace::Capture::open(std::move(setting), clock_);
  if (!capture) return capture.error();
  capture_ = std::move(*capture);
  delivery_.add_follower(*capture_);
  return {};
}

// What a segment must say so that it can be judged later.
void InferenceServer::describe_capture() {
  if (capture_ == nullptr) return;
  std::vector<std::pair<std::string, std::uint32_t>> blocks;
  for (std::size_t i = 0; i < engines_.size(); ++i) blocks.emplace_back(names_[i], engines_[i]->status().blocks_total);
  capture_->describe(source_ == nullptr ? std::string() : source_->effective(), blocks);
}

http::Hooks InferenceServer::hooks() const {
  http::Hooks hooks;
  hooks.render_error = [](int status, std::string_view reason) {
    return serve::error_response(api::http_error(status, reason));
  };
  hooks.on_access = [](const http::AccessRecord& record) {
    spdlog::debug("{} {} {} from {}: {} bytes in {:.3f} s, {}", record.status, record.method, record.path, record.peer,
                  record.bytes_sent, to_seconds(record.duration), outcome_name(record.outcome));
  };
  return hooks;
}

Status InferenceServer::make_engine(ServableModel& model, ModelIndex index) {
  EngineOptions options = engine_options(config_, *router_.table(), index);
  // Measured here and not by the engine, so that the figures can be shown too.
  const TimePoint start = clock_.now();
  if (model.step_samples.empty()) {
    auto samples = measure_steps(*model.executor, clock_, options.warm_up);
    if (!samples) return samples.error();
    model.step_samples = std::move(*samples);
  }
  model.start.steps += clock_.now() - start;
  start_times_.push_back(model.start);
  measured_steps_.push_back(fit_step_time(model.step_samples));
  StepTimeTerms& terms = measured_steps_.back();
  if (model.swap) {
    const auto copy = measure_block_copy(*model.executor, clock_);
    if (!copy) return copy.error();
    terms.per_swapped = *copy;
  }
  auto step_time = std::make_unique<LinearStepTimeModel>(terms);
  SchedulerTape* tape =
      step_log_ ? &step_log_->tape(index, {terms.per_step, terms.per_token, terms.per_attended, terms.per_swapped})
                : nullptr;
  auto engine = Engine::create(std::move(model.executor), clock_, options, {&delivery_, &metrics_},
                               std::move(step_time), tape, std::move(model.swap));
  if (!engine) return engine.error();
  engines_.push_back(std::move(*engine));
  return {};
}

Status InferenceServer::serve(std::vector<ServableModel> models) {
  std::vector<serve::ServedModel> served;
  for (auto& model : models) {
    const ModelIndex index(static_cast<std::uint32_t>(served.size()));
    if (const auto status = make_engine(model, index); !status) return status;
    metrics_.set_work(index, model.work);
    Engine& engine = *engines_.back();
    served.push_back({model.name, index, model.tokenizer, model.chat_template, &engine, engine.max_request_tokens(),
                      system_unix_seconds(), model.template_error});
  }
  auto registry = serve::ModelRegistry::create(std::move(served));
  if (!registry) return registry.error();
  registry_ = std::make_unique<serve::ModelRegistry>(std::move(*registry));
  serve::ServeOptions options = config_.serve;
  options.local_admin = config::is_loopback(config_.http.host);
  handler_ = std::make_unique<serve::ApiHandler>(
      serve::ServeContext{*registry_, router_, *this, delivery_, source_, clock_, system_unix_seconds, capture_.get()},
      options);
  describe_capture();
  for (auto& engine : engines_) engine->start();
  gate_.open(*handler_);
  return {};
}

// Engines first: they must know a class before a request of it comes.
Status InferenceServer::reconfigure(const config::ServerConfig& config, std::int64_t unix_seconds) {
  auto routing = route::RoutingTable::create(config.route, route::local_time(unix_seconds), router_.table().get());
  if (!routing) return routing.error();
  std::vector<EngineOptions> options;
  for (std::size_t i = 0; i < engines_.size(); ++i) {
    options.push_back(engine_options(config, *routing, ModelIndex(static_cast<std::uint32_t>(i))));
    if (Status sound = engines_[i]->check(options.back()); !sound)
      return Error{sound.error().code, names_[i] + ": " + sound.error().message, sound.error().field};
  }
  for (std::size_t i = 0; i < engines_.size(); ++i) engines_[i]->reconfigure(options[i]);
  router_.replace(std::move(*routing));
  return {};
}

void InferenceServer::begin_drain(Duration limit) {
  if (handler_) handler_->begin_drain();
  for (auto& engine : engines_) engine->begin_drain(clock_.now() + limit);
}

void InferenceServer::refuse_waiting() {
  if (handler_) handler_->refuse_waiting();
}

bool InferenceServer::wait_until_drained(Duration wait) {
  return handler_ == nullptr || handler_->wait_until_idle(wait);
}

void InferenceServer::stop() {
  if (http_ == nullptr) return;
  constexpr Duration kLastBytes = std::chrono::seconds(1);
  for (auto& engine : engines_) engine->stop();
  delivery_.wait_until_idle(kLastBytes);
  http_->stop_accepting();
  http_->wait_idle(kLastBytes);
  http_->stop();
  delivery_.stop();  // it speaks to the engines, which go next
  if (capture_) capture_->stop();
  step_log_.reset();
}

void InferenceServer::cut() {
  constexpr Duration kLastWords = std::chrono::milliseconds(500);
  // Before the connections: nobody shall look like a client that has gone.
  refuse_waiting();
  delivery_.give_up({ErrorCode::kUnavailable, "The server was told to end at once", "draining"});
  if (delivery_.wait_until_idle(kLastWords)) http_->wait_idle(kLastWords);
  http_->stop();
  if (capture_) capture_->stop();
}

serve::Readiness InferenceServer::readiness() const {
  for (std::size_t i = 0; i < engines_.size(); ++i) {
    const EngineStatus status = engines_[i]->status();
    if (!status.ready) return {false, names_[i] + ": " + status.reason};
  }
  return {true, {}};
}

std::optional<std::string> InferenceServer::request_json(RequestId request) const {
  const metrics::TimelineContext context = timeline_context();
  const auto timeline = timelines_.find(request, context.now);
  if (!timeline) return std::nullopt;
  return metrics::timeline_json(*timeline, context);
}

std::string InferenceServer::requests_json(serve::WhichRequests which, std::size_t most) const {
  const metrics::TimelineContext context = timeline_context();
  const bool alive = which == serve::WhichRequests::kAlive;
  const auto found = alive ? timelines_.alive(most, context.now) : timelines_.slowest(most, context.now);
  return metrics::timelines_json(found, timelines_.alive_count(), context);
}

metrics::TimelineContext InferenceServer::timeline_context() const {
  return {clock_.now(), names_, api::request_name,
          [this](const metrics::Timeline& timeline) { return queue_place(timeline); }};
}

// What it waits for is what the engine last said of it, or else of the last one in its queue that it spoke of.
std::optional<metrics::QueuePlace> InferenceServer::queue_place(const metrics::Timeline& timeline) const {
  const auto place = delivery_.load().place_of(timeline.request);
  if (!place) return std::nullopt;
  metrics::QueuePlace queue{place->position, place->predicted, WaitReason::kNone};
  for (const WaitingSequence& waiting : engines_[timeline.model.value]->stall_report().sequences) {
    if (waiting.phase != RequestPhase::kQueued || waiting.tier != timeline.labels.tier) continue;
    queue.reason = waiting.reason;
    if (waiting.request == timeline.request) break;
  }
  return queue;
}

serve::MetricsPage InferenceServer::metrics(bool open_metrics) const {
  std::vector<metrics::KvBlocks> memory;
  for (const auto& engine : engines_) {
    const EngineStatus status = engine->status();
    const SwapStatus& swap = status.swap;
    memory.push_back({status.blocks_total,
                      status.blocks_owned,
                      status.blocks_cached,
                      status.blocks_free,
                      {swap.arena_bytes, swap.used_bytes, swap.bytes_out, swap.bytes_in, swap.time_out, swap.time_in,
                       swap.failed_writes, swap.failed_reads},
                      status.blocks_pinned,
                      status.unused_cover_tokens,
                      kv_owners(status, clock_.now())});
  }
  metrics::ServerState server;
  if (source_ != nullptr) {
    const serve::ConfigState config = source_->state();
    server.config = {config.generation, config.last_change_applied, config.last_change_unix};
  }
  if (capture_) {
    const trace::CaptureCounts counts = capture_->counts();
    server.captured = {counts.written, counts.lost_to_queue, counts.lost_to_disk};
  }
  const auto format = open_metrics ? metrics::ExpositionFormat::kOpenMetrics : metrics::ExpositionFormat::kPrometheus;
  return {metrics::content_type(format), metrics_.text(memory, server, format)};
}

}  // namespace takt::app
