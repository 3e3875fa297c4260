// The serving side with a scripted engine behind it and a recording responder before it.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "serve/api_handler.h"
#include "unit/serve/byte_tokenizer.h"
#include "unit/serve/recording_responder.h"
#include "unit/serve/scripted_engine.h"

namespace takt::test {

// Renders every conversation to the text it is given.
class FixedTemplate final : public ChatTemplate {
 public:
  Result<RenderedPrompt> render(const TemplateContext& context) const override {
    std::unique_lock lock(mutex_);
    ++renderings_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    last_context_ = context.json;
    if (!error_.message.empty()) return error_;
    return rendered_;
  }
  void set(RenderedPrompt rendered) {
    std::lock_guard lock(mutex_);
    rendered_ = std::move(rendered);
  }
  void fail_with(Error error) {
    std::lock_guard lock(mutex_);
    error_ = std::move(error);
  }
  // Renderings do not end while held.
  void hold(bool held) {
    std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  // False when so many do not begin in time.
  bool wait_renderings(int count) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return renderings_ >= count; });
  }
  int renderings() const {
    std::lock_guard lock(mutex_);
    return renderings_;
  }
  std::string last_context() const {
    std::lock_guard lock(mutex_);
    return last_context_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::string last_context_;
  mutable int renderings_ = 0;
  bool held_ = false;
  RenderedPrompt rendered_{"<bos><turn>hello", {}};
  Error error_{};
};

class FixedStatus final : public serve::StatusSource {
 public:
  serve::Readiness readiness() const override { return ready_; }
  serve::MetricsPage metrics(bool open_metrics) const override {
    if (open_metrics) return {"application/openmetrics-text; version=1.0.0", "takt_up 1\n# EOF\n"};
    return {"text/plain; version=0.0.4", "takt_up 1\n"};
  }
  std::optional<std::string> request_json(RequestId request) const override {
    if (request == RequestId(0xABC)) return R"({"id":"0000000000000abc"})";
    return std::nullopt;
  }
  std::string requests_json(serve::WhichRequests which, std::size_t most) const override {
    const std::string asked = which == serve::WhichRequests::kAlive ? "alive " : "slowest ";
    return R"({"requests":[],"asked":")" + asked + std::to_string(most) + R"("})";
  }
  void count_refusal(const RequestLabels& labels, ErrorCode reason) override {
    std::lock_guard lock(mutex_);
    refusals_.emplace_back(labels.tenant, reason);
  }
  void set(serve::Readiness ready) { ready_ = std::move(ready); }
  std::vector<std::pair<std::string, ErrorCode>> refusals() const {
    std::lock_guard lock(mutex_);
    return refusals_;
  }

 private:
  serve::Readiness ready_{true, {}};
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, ErrorCode>> refusals_;
};

class FixedConfig final : public serve::ConfigSource {
 public:
  std::string effective() const override { return R"({"options":{}})"; }
  Result<std::string> change(const std::string& body) override {
    if (body == "wrong") return Error::invalid("scheduler.join", "must be one of two");
    if (body == "restart") return Error{ErrorCode::kUnsupported, "needs a restart", "http.port"};
    return std::string(R"({"changed":{}})");
  }
  serve::ConfigState state() const override { return {}; }
};

class ServeFixture : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kContext = 100;

  void SetUp() override {
    spdlog::default_logger_raw();  // made here, before there are threads that log
    start({}, {});
  }

  void start(std::vector<route::ApiKey> keys, serve::ServeOptions options) {
    handler_.reset();
    delivery_ = std::make_unique<serve::Delivery>(clock_);
    template_ = std::make_shared<FixedTemplate>();
    serve::ServedModel model{"tiny",   ModelIndex(0), std::make_shared<ByteTokenizer>(), template_, &engine_,
                             kContext, 1700000000};
    serve::ServedModel plain{"plain",  ModelIndex(1), std::make_shared<ByteTokenizer>(), nullptr, &engine_,
                             kContext, 1700000000};
    models_ = std::make_unique<serve::ModelRegistry>(serve::ModelRegistry::create({model, plain}).value());
    route::RouteOptions routing;
    routing.keys = std::move(keys);
    router_ = std::make_unique<route::Router>(route::RoutingTable::create(routing, {}, nullptr).value());
    serve::ServeContext context{
        *models_, *router_, status_, *delivery_, &config_, clock_, [] { return std::int64_t{1700000000}; }};
    handler_ = std::make_unique<serve::ApiHandler>(std::move(context), options);
  }

  std::shared_ptr<RecordingResponder> request(std::string method, std::string path, std::string body = {},
                                              http::Headers headers = {}, std::string peer = "127.0.0.1") {
    auto responder = std::make_shared<RecordingResponder>();
    http::Request request{std::move(method), std::move(path), {}, std::move(headers), std::move(body), std::move(peer)};
    handler_->handle(std::move(request), responder);
    return responder;
  }
  std::shared_ptr<RecordingResponder> chat(const std::string& fields = {}, http::Headers headers = {}) {
    return request("POST", "/v1/chat/completions",
                   R"({"messages":[{"role":"user","content":"hi"}])" + (fields.empty() ? "" : "," + fields) + "}",
                   std::move(headers));
  }
  std::shared_ptr<RecordingResponder> complete(const std::string& fields) {
    return request("POST", "/v1/completions", "{" + fields + "}");
  }

  template <typename What>
  void publish(What what) {
    delivery_->publish({Event{clock_.now(), std::move(what)}});
  }
  void accept(RequestId id) {
    Accepted accepted;
    accepted.request = id;
    publish(accepted);
  }
  void admit(RequestId id) { publish(Admitted{id, 0}); }
  void say(RequestId id, std::string_view text, std::uint32_t choice = 0, std::uint32_t first_index = 0) {
    std::vector<Event> events;
    for (const char c : text) events.push_back({clock_.now(), TokenSampled{id, choice, first_index++, byte_token(c)}});
    delivery_->publish(events);
  }
  void finish(RequestId id, FinishReason reason = FinishReason::kStop, std::uint32_t choice = 0, Error error = {}) {
    publish(ChoiceFinished{id, choice, reason, 0, std::move(error)});
  }
  void close(RequestId id, std::uint32_t cached = 0) {
    Closed closed;
    closed.request = id;
    closed.cached_tokens = cached;
    publish(closed);
  }
  void answer(RequestId id, std::string_view text) {
    admit(id);
    say(id, text);
    finish(id);
    close(id);
  }

  ManualClock clock_;
  ScriptedEngine engine_;
  FixedStatus status_;
  FixedConfig config_;
  std::shared_ptr<FixedTemplate> template_;
  std::unique_ptr<serve::Delivery> delivery_;
  std::unique_ptr<serve::ModelRegistry> models_;
  std::unique_ptr<route::Router> router_;
  std::unique_ptr<serve::ApiHandler> handler_;
};

}  // namespace takt::test
