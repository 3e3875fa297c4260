#include "serve/api_handler.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "api/api_error.h"
#include "api/write_answer.h"
#include "serve/access_log.h"
#include "serve/admin_access.h"
#include "serve/admin_requests.h"
#include "serve/metrics_form.h"
#include "serve/refusal.h"
#include "serve/request_head.h"

namespace takt::serve {

namespace {

constexpr std::size_t kMaxControlRequests = 64;

api::ApiError overloaded(std::string message, const WorkerPool& workers) {
  return {
      503, "overloaded_error", "server_overloaded", std::move(message), {}, retry_seconds(workers.predicted_drain()),
      {}};
}

constexpr std::size_t kLongestSupersedeKey = 256;
constexpr const char* kSupersedeHeader = "x-takt-supersede";

bool generates(const EndpointRule& rule) {
  return rule.endpoint == Endpoint::kChat || rule.endpoint == Endpoint::kCompletions;
}

api::ApiError to_api_error(const route::QuotaRefusal& refusal) {
  api::ApiError error = api::to_api_error(refusal.error);
  error.retry_after_seconds = refusal.retry_after_seconds;
  return error;
}

bool asks_for_an_answer(std::string_view path) {
  const EndpointRule* rule = find_endpoint(path).find("POST");
  return rule != nullptr && generates(*rule);
}

}  // namespace

ApiHandler::ApiHandler(ServeContext context, ServeOptions options)
    : context_(std::move(context)),
      options_(options),
      ids_(context_.unix_seconds()),
      quotas_(context_.clock),
      body_worker_(context_, options_, ids_),
      control_workers_("takt-control", 1, kMaxControlRequests),
      bodies_(options) {}

ApiHandler::~ApiHandler() = default;

std::variant<ApiHandler::CallerPtr, api::ApiError> ApiHandler::let_in(const http::Request& head) const {
  auto known = std::make_shared<Caller>();
  Caller& caller = *known;
  const PathRules path = find_endpoint(head.path);
  if (const auto wrong = contradiction_in(head)) return api::to_api_error(*wrong);
  if (path.access() != Access::kOpen) {
    auto identity = context_.router.identify(head.header("authorization"), head.header("x-api-key"));
    if (!identity) return api::unauthorized();
    caller.identity = std::move(*identity);
  }
  if (is_admin_path(head.path)) {
    const AdminDoor door{context_.router.has_keys(), options_.local_admin};
    if (!may_administer(door, caller.identity.admin, head)) return api::admin_needed(context_.router.has_keys());
  }
  if (path.empty()) return api::unknown_path(head.path);
  caller.rule = path.find(head.method);
  if (caller.rule == nullptr) return api::method_not_allowed(head.method, path.allowed());
  if (auto refused = refuse_while_draining(caller)) return std::move(*refused);
  if (generates(*caller.rule)) {
    if (auto refused = judge(head, caller)) return std::move(*refused);
  }
  return known;
}

// Judged by the head already, where a body was announced. A drain may have begun while the body came.
std::variant<ApiHandler::CallerPtr, api::ApiError> ApiHandler::caller_of(const http::Request& request) const {
  auto known = std::dynamic_pointer_cast<const Caller>(request.note);
  if (known == nullptr) return let_in(request);
  if (auto refused = refuse_while_draining(*known)) return std::move(*refused);
  return known;
}

std::optional<api::ApiError> ApiHandler::refuse_while_draining(const Caller& caller) const {
  if (caller.rule->method == "GET" || !draining_.load()) return std::nullopt;
  const RequestLabels labels = context_.router.labels_of(caller.identity);
  note_refused(context_, {{}, context_.clock.now(), labels, ErrorCode::kUnavailable, {}, 0});
  return api::draining(options_.drain_retry_after_seconds);
}

// What can be told of a generation request by its head.
std::optional<api::ApiError> ApiHandler::judge(const http::Request& head, Caller& caller) const {
  const auto refuse = [&](const Error& error) {
    const RequestLabels labels = context_.router.labels_of(caller.identity);
    note_refused(context_, {{}, context_.clock.now(), labels, error.code, {}, 0});
  };
  caller.wishes = wishes_of(head);
  const auto subject = context_.router.judge_head(caller.identity, caller.wishes);
  const std::string_view key = head.header(kSupersedeHeader);
  Status sound = subject ? Status() : Status(subject.error());
  if (sound && key.size() > kLongestSupersedeKey)
    sound = Error::invalid(kSupersedeHeader, "'x-takt-supersede' may have 256 bytes");
  if (!sound) {
    refuse(sound.error());
    return api::to_api_error(sound.error());
  }
  if (!key.empty()) caller.supersede_key = supersede_key(*subject, key);
  if (const auto refused = quotas_.check(caller.identity.key_id, caller.identity.limits)) {
    refuse(refused->error);
    return to_api_error(*refused);
  }
  return std::nullopt;
}

std::optional<http::Response> ApiHandler::refuse_by_head(http::Request& head) {
  auto caller = let_in(head);
  if (auto* known = std::get_if<CallerPtr>(&caller)) {
    head.note = std::move(*known);
    return std::nullopt;
  }
  const auto& error = std::get<api::ApiError>(caller);
  Exchange exchange;
  exchange.id = ids_.next();
  exchange.arrival = context_.clock.now();
  note_refusal(exchange, head, error);
  return error_response(exchange.id, error);
}

void ApiHandler::handle(http::Request request, std::shared_ptr<http::Responder> responder) {
  auto exchange = std::make_shared<Exchange>();
  exchange->id = ids_.next();
  exchange->arrival = context_.clock.now();
  exchange->responder = std::move(responder);

  const auto caller = caller_of(request);
  if (const auto* error = std::get_if<api::ApiError>(&caller)) {
    note_refusal(*exchange, request, *error);
    return answer_error(*exchange, *error);
  }
  const Caller& known = *std::get<CallerPtr>(caller);
  exchange->identity = known.identity;
  exchange->wishes = known.wishes;
  exchange->early_status = request.header("x-takt-early-status") == "1";
  exchange->load = &context_.delivery.load();
  if (generates(*known.rule)) {
    auto entered = quotas_.enter(exchange->identity.key_id, exchange->identity.limits);
    if (const auto* refused = std::get_if<route::QuotaRefusal>(&entered)) {
      note_refused(context_, *exchange, context_.router.labels_of(exchange->identity), refused->error.code);
      const api::ApiError error = to_api_error(*refused);
      note_refusal(*exchange, request, error);
      return answer_error(*exchange, error);
    }
    exchange->quota = std::move(std::get<0>(entered));
    if (!known.supersede_key.empty()) supersede(known.supersede_key, exchange);
  }
  dispatch(*known.rule, std::move(request), exchange);
}

void ApiHandler::supersede(const std::string& key, const ExchangePtr& exchange) {
  const ExchangePtr before = latest_.replace(key, exchange);
  if (before == nullptr) return;
  before->superseded.store(true);
  context_.delivery.fail(before->id, api::superseded());
}

bool ApiHandler::wait_until_idle(Duration limit) const {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  if (!bodies_.wait_until_idle(limit)) return false;
  return context_.delivery.wait_until_idle(deadline - std::chrono::steady_clock::now());
}

void ApiHandler::dispatch(const EndpointRule& rule, http::Request request, const ExchangePtr& exchange) {
  switch (rule.endpoint) {
    case Endpoint::kHealth:
      return answer_json(*exchange, 200, R"({"status":"ok"})");
    case Endpoint::kReady:
      return answer_ready(*exchange);
    case Endpoint::kModels:
      return answer_json(*exchange, 200, api::model_list(context_.models.cards(exchange->identity)));
    case Endpoint::kModel:
      return answer_model(*exchange, request.path.substr(rule.path.size()));
    case Endpoint::kMetrics:
      return answer_metrics(wants_open_metrics(request.header("accept")), exchange);
    case Endpoint::kConfig:
      if (context_.config == nullptr) return answer_error(*exchange, api::unknown_path(request.path));
      return answer_admin(exchange, [this] { return context_.config->effective(); });
    case Endpoint::kChangeConfig:
      if (context_.config == nullptr) return answer_error(*exchange, api::unknown_path(request.path));
      return answer_admin(exchange, [this, body = std::move(request.body)] { return changed_config(body); });
    case Endpoint::kRequests:
      return answer_admin(exchange,
                          [this, query = std::move(request.query)] { return requests_answer(context_.status, query); });
    case Endpoint::kRequest:
      return answer_admin(exchange, [this, name = request.path.substr(rule.path.size())] {
        return request_answer(context_.status, name);
      });
    case Endpoint::kChat:
    case Endpoint::kCompletions:
    case Endpoint::kTokenize:
    case Endpoint::kDetokenize:
      return post_body(rule.endpoint, std::move(request.body), exchange);
  }
}

void ApiHandler::answer_ready(const Exchange& exchange) const {
  const Readiness readiness = context_.status.readiness();
  if (draining_.load()) return answer_error(exchange, api::draining(options_.drain_retry_after_seconds));
  if (readiness.ready) return answer_json(exchange, 200, R"({"status":"ready"})");
  answer_error(exchange, {503, "overloaded_error", "not_ready", readiness.reason, {}, 1, {}});
}

void ApiHandler::answer_model(const Exchange& exchange, const std::string& name) const {
  std::vector<std::string> names;
  for (const api::ModelCard& card : context_.models.cards(exchange.identity)) {
    if (card.name == name) return answer_json(exchange, 200, api::model_card(card));
    names.push_back(card.name);
  }
  answer_error(exchange, api::to_api_error(api::unknown_model(name, names)));
}

void ApiHandler::answer_metrics(bool open_metrics, const ExchangePtr& exchange) {
  const bool taken = control_workers_.post([this, open_metrics, exchange] {
    MetricsPage page = context_.status.metrics(open_metrics);
    http::Response response;
    response.content_type = std::move(page.content_type);
    response.headers = answer_headers(exchange->id);
    response.body = std::move(page.body);
    exchange->responder->send(std::move(response));
  });
  if (!taken) answer_error(*exchange, overloaded("Too many scrapes at once", control_workers_));
}

void ApiHandler::answer_admin(const ExchangePtr& exchange,
                              std::function<std::variant<std::string, api::ApiError>()> make_answer) {
  const bool taken = control_workers_.post([exchange, make_answer = std::move(make_answer)] {
    auto answer = make_answer();
    if (const auto* error = std::get_if<api::ApiError>(&answer)) return answer_error(*exchange, *error);
    answer_json(*exchange, 200, std::move(std::get<std::string>(answer)));
  });
  if (!taken) answer_error(*exchange, overloaded("Too many requests of administrators at once", control_workers_));
}

// Who asked is not known: it was refused before, or it does not matter.
void ApiHandler::note_refusal(const Exchange& exchange, const http::Request& head, const api::ApiError& error) const {
  if (!options_.access_log || !asks_for_an_answer(head.path)) return;
  RequestLabels labels;
  labels.service_class = "-";
  log_refusal(exchange, labels, error, context_.clock.now());
}

std::variant<std::string, api::ApiError> ApiHandler::changed_config(const std::string& body) const {
  auto changed = context_.config->change(body);
  if (!changed) return api::to_api_error(changed.error());
  return std::move(*changed);
}

void ApiHandler::post_body(Endpoint endpoint, std::string body, const ExchangePtr& exchange) {
  // The exchange must not keep itself alive through its own responder.
  exchange->responder->on_closed(
      [weak = std::weak_ptr<Exchange>(exchange), &delivery = context_.delivery](http::Responder::Closed why) {
        const ExchangePtr gone = weak.lock();
        if (gone == nullptr) return;
        gone->client_gone.store(true);
        delivery.abandon(gone->id, why == http::Responder::Closed::kSlowReader ? CancelCause::kSlowReader
                                                                               : CancelCause::kClientGone);
      });

  const std::size_t bytes = body.size();
  const bool taken = bodies_.post(exchange, bytes, [this, endpoint, exchange, text = std::move(body)] {
    body_worker_.work_on(endpoint, text, exchange);
  });
  if (!taken) refuse_body(*exchange, overloaded("Too many requests wait to be read", bodies_.workers()));
}

void ApiHandler::refuse_waiting() {
  for (const ExchangePtr& exchange : bodies_.take_waiting())
    refuse_body(*exchange, api::draining(options_.drain_retry_after_seconds));
}

void ApiHandler::refuse_body(const Exchange& exchange, const api::ApiError& error) {
  const RequestLabels labels = context_.router.labels_of(exchange.identity);
  note_refused(context_, exchange, labels, ErrorCode::kUnavailable);
  if (options_.access_log) log_refusal(exchange, labels, error, context_.clock.now());
  answer_error(exchange, error);
}

}  // namespace takt::serve
