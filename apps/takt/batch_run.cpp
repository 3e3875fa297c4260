#include "batch_run.h"

#include <algorithm>
#include <boost/json.hpp>
#include <string>
#include <string_view>

namespace takt::app {
namespace {

namespace json = boost::json;

constexpr auto kLook = std::chrono::milliseconds(200);  // for signals, between answers

std::uint64_t tokens_of(const json::value& usage, std::string_view name) {
  const json::value* count = usage.is_object() ? usage.get_object().if_contains(name) : nullptr;
  return count != nullptr && count->is_int64()
             ? static_cast<std::uint64_t>(std::max<std::int64_t>(0, count->get_int64()))
             : 0;
}

bool comes_back_later(int status) {
  return status == 429 || status == 503;
}

}  // namespace

// Answers its request once; one that is dropped unanswered becomes a 500.
class BatchRun::Answer final : public http::Responder {
 public:
  Answer(std::shared_ptr<Inbox> inbox, BatchRequest request) : inbox_(std::move(inbox)), request_(std::move(request)) {}
  ~Answer() override { deliver(failure("The request was dropped.")); }

  void send(http::Response response) override { deliver(std::move(response)); }
  void begin_stream(int, std::string, http::Headers) override {
    deliver(failure("The answer came as a stream, which a batch cannot keep."));
  }
  void write(std::string) override {}
  void end_stream() override {}
  void abort() override { deliver(failure("The answer was broken off.")); }
  void on_closed(std::function<void(Closed)>) override {}
  std::size_t queued_bytes() const override { return 0; }

 private:
  static http::Response failure(const char* message) {
    http::Response response;
    response.status = 500;
    response.body = json::serialize(json::object{
        {"error", {{"message", message}, {"type", "server_error"}, {"param", nullptr}, {"code", "internal_error"}}}});
    return response;
  }

  void deliver(http::Response response) {
    std::lock_guard lock(inbox_->mutex);
    if (answered_) return;
    answered_ = true;
    inbox_->outcomes.emplace_back(std::move(request_), std::move(response));
    inbox_->changed.notify_one();
  }

  const std::shared_ptr<Inbox> inbox_;
  BatchRequest request_;
  bool answered_ = false;
};

BatchRun::BatchRun(http::Handler& handler, http::Headers headers, std::size_t in_flight)
    : handler_(handler),
      headers_(std::move(headers)),
      most_in_flight_(std::max<std::size_t>(1, in_flight)),
      allowed_(most_in_flight_) {}

BatchRun::~BatchRun() = default;

Status BatchRun::run(const Next& next, const Keep& keep, const std::function<bool()>& stop) {
  bool more = true;
  Status failure;
  for (;;) {
    const bool stopped = stop() || !failure.ok();
    while (!stopped && in_flight_ < allowed_ && !again_.empty()) {
      BatchRequest request = std::move(again_.front());
      again_.pop_front();
      send(std::move(request));
    }
    while (failure.ok() && !stopped && more && again_.empty() && in_flight_ < allowed_) {
      auto request = next();
      more = request && request->has_value();
      if (more) send(std::move(**request));
      if (!request) failure = request.error();
    }
    complete_ = failure.ok() && !more && again_.empty() && in_flight_ == 0;
    if (in_flight_ == 0 && (stopped || !failure.ok() || complete_)) return failure;
    for (Outcome& outcome : wait_for_outcomes()) {
      if (Status status = take(std::move(outcome), keep); !status && failure.ok()) failure = status;
    }
  }
}

void BatchRun::send(BatchRequest request) {
  http::Request out;
  out.method = "POST";
  out.path = request.path;
  out.headers = headers_;
  out.body = request.body;
  ++in_flight_;
  handler_.handle(std::move(out), std::make_shared<Answer>(inbox_, std::move(request)));
}

std::vector<BatchRun::Outcome> BatchRun::wait_for_outcomes() {
  std::vector<Outcome> outcomes;
  std::unique_lock lock(inbox_->mutex);
  inbox_->changed.wait_for(lock, kLook, [this] { return !inbox_->outcomes.empty(); });
  outcomes.swap(inbox_->outcomes);
  return outcomes;
}

Status BatchRun::take(Outcome outcome, const Keep& keep) {
  auto& [request, response] = outcome;
  --in_flight_;
  if (comes_back_later(response.status)) {
    const std::string line = std::to_string(request.line);
    again_.push_back(std::move(request));
    allowed_ = std::max<std::size_t>(1, in_flight_);
    if (in_flight_ > 0) return {};
    return Error{ErrorCode::kUnavailable, "the request of line " + line + " is put off for ever: " + response.body, {}};
  }
  allowed_ = std::min(allowed_ + 1, most_in_flight_);
  if (Status status = keep(batch_answer_line(request, response)); !status) return status;
  ++counts_.answered;
  if (response.status != 200) ++counts_.failed;
  json::error_code failure;
  const json::value body = json::parse(response.body, failure);
  if (const json::value* usage = body.is_object() ? body.get_object().if_contains("usage") : nullptr) {
    counts_.prompt_tokens += tokens_of(*usage, "prompt_tokens");
    counts_.output_tokens += tokens_of(*usage, "completion_tokens");
  }
  return {};
}

}  // namespace takt::app
