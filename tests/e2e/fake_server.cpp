#include "e2e/fake_server.h"

#include <gtest/gtest.h>

#include "exec/fake/fake_executor.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace takt::test {

FakeServerSettings script(std::string text) {
  FakeServerSettings settings;
  settings.script = std::move(text);
  return settings;
}

std::unique_ptr<FakeServer> FakeServer::start(FakeServerSettings settings) {
  std::unique_ptr<FakeServer> server(new FakeServer(std::move(settings)));
  if (!server->build()) return nullptr;
  return server;
}

FakeServer::FakeServer(FakeServerSettings settings)
    : settings_(std::move(settings)), delivery_(clock_, {&timelines_}) {}

FakeServer::~FakeServer() {
  if (http_) http_->stop();
  if (engine_) engine_->stop();
  delivery_.stop();
}

bool FakeServer::build() {
  const auto failed = [](const Error& error) {
    ADD_FAILURE() << error.message;
    return false;
  };
  auto script = parse_fake_script(settings_.script);
  if (!script) return failed(script.error());
  const ModelVocabulary vocabulary = fake_vocabulary(*script);
  auto tokenizer = Tokenizer::create(vocabulary);
  if (!tokenizer) return failed(tokenizer.error());
  std::vector<std::string> controls;
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    if (vocabulary.types[i] == TokenType::kControl) controls.push_back(vocabulary.tokens[i]);
  }
  auto chat_template = ChatTemplate::compile(vocabulary.chat_template, controls);
  if (!chat_template) return failed(chat_template.error());

  settings_.engine.warm_up = std::chrono::milliseconds(5);
  auto engine =
      Engine::create(make_fake_executor(*script, clock_, settings_.spend), clock_, settings_.engine, {&delivery_});
  if (!engine) return failed(engine.error());
  engine_ = std::move(engine).value();

  route::RouteOptions routing;
  routing.keys = settings_.keys;
  auto table = route::RoutingTable::create(routing, {}, nullptr);
  if (!table) return failed(table.error());
  router_ = std::make_unique<route::Router>(std::move(table).value());
  serve::ServedModel model{"fake",
                           ModelIndex(0),
                           std::move(tokenizer).value(),
                           std::move(chat_template).value(),
                           engine_.get(),
                           engine_->max_request_tokens(),
                           0};
  auto models = serve::ModelRegistry::create({std::move(model)});
  if (!models) return failed(models.error());
  models_ = std::make_unique<serve::ModelRegistry>(std::move(models).value());
  serve::ServeContext context{
      *models_, *router_, *this, delivery_, nullptr, clock_, [] { return std::int64_t{1700000000}; }};
  handler_ = std::make_unique<serve::ApiHandler>(std::move(context), settings_.serve);

  settings_.http.port = 0;
  http::Hooks hooks;
  hooks.render_error = [](int status, std::string_view reason) {
    return serve::error_response(api::http_error(status, reason));
  };
  auto http = http::Server::start(settings_.http, hooks, *handler_);
  if (!http) return failed(http.error());
  http_ = std::move(http).value();
  engine_->start();
  return true;
}

bool FakeServer::wait_free() const {
  return eventually([this] {
    const EngineStatus status = engine_->status();
    return status.running == 0 && status.waiting == 0 && status.blocks_owned == 0;
  });
}

metrics::TimelineContext FakeServer::timeline_context() const {
  const auto place_of = [this](const metrics::Timeline& timeline) -> std::optional<metrics::QueuePlace> {
    const auto place = delivery_.load().place_of(timeline.request);
    if (!place) return std::nullopt;
    return metrics::QueuePlace{place->position, place->predicted, WaitReason::kNone};
  };
  return {clock_.now(), {}, api::request_name, place_of};
}

std::optional<std::string> FakeServer::request_json(RequestId request) const {
  const auto timeline = timelines_.find(request, clock_.now());
  if (!timeline) return std::nullopt;
  return metrics::timeline_json(*timeline, timeline_context());
}

std::string FakeServer::requests_json(serve::WhichRequests which, std::size_t most) const {
  const bool alive = which == serve::WhichRequests::kAlive;
  const TimePoint now = clock_.now();
  return metrics::timelines_json(alive ? timelines_.alive(most, now) : timelines_.slowest(most, now),
                                 timelines_.alive_count(), timeline_context());
}

serve::Readiness FakeServer::readiness() const {
  const EngineStatus status = engine_->status();
  return {status.ready, status.reason};
}

}  // namespace takt::test
