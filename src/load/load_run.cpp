#include "load/load_run.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>

#include "load/active_request.h"
#include "load/requests_ahead.h"
#include "load/run_book.h"
#include "measure/percentile.h"

namespace takt::load {
namespace {

using measure::Failure;
using measure::Outcome;

constexpr Duration kTick = std::chrono::milliseconds(50);
constexpr Duration kProgressEvery = std::chrono::milliseconds(500);
constexpr Duration kHeadStart = std::chrono::milliseconds(20);  // for what is made ahead
constexpr std::uint32_t kMostRetries = 5;
constexpr Duration kLongestRetryWait = std::chrono::minutes(5);

}  // namespace

// Everything that changes while a run goes on.
class LoadRun::Work final : public ActiveRequest::Owner {
 public:
  Work(Transport& transport, const PromptWriter& writer, const std::vector<LoadClass>& classes, RunOptions options)
      : transport_(transport),
        writer_(writer),
        classes_(classes),
        options_(std::move(options)),
        ahead_([this](const PlannedRequest& plan) { return body_of(plan); }),
        book_(options_, classes_) {}

  void read_from(std::unique_ptr<RequestSource> source) { ahead_.read_from(std::move(source)); }
  void add_closed(ClosedLoad load) { closed_.push_back(std::move(load)); }

  RunResult execute();

 private:
  struct User {
    const ClosedLoad* load = nullptr;
    std::uint64_t draws = 0;
    std::uint32_t turn = 0;
    std::vector<Message> conversation;
  };
  struct Session {
    bool busy = false;
    std::deque<ReadyRequest> waiting;
  };

  // Open loads.
  void make_ahead();
  void schedule_next();
  void send_due();
  void arrive(ReadyRequest ready, TimePoint scheduled, TimePoint due);
  void session_goes_on(const std::string& name, TimePoint at);
  // Closed loads.
  void ask(std::size_t user);
  void user_goes_on(std::size_t user, const ActiveRequest& done, TimePoint at);
  // Both.
  void start(std::unique_ptr<ActiveRequest> request);
  void request_over(ActiveRequest& request, TimePoint at) override;
  bool retry(ActiveRequest& request, TimePoint at);
  OutgoingRequest outgoing(const PlannedRequest& plan, std::string body) const;
  std::string body_of(const PlannedRequest& plan);
  // The run itself.
  void later(TimePoint at, std::function<void()> call);
  void tick();
  void report_progress(TimePoint now);
  bool over();
  void stop_all();
  RunResult result();

  Transport& transport_;
  const PromptWriter& writer_;
  const std::vector<LoadClass>& classes_;
  RunOptions options_;
  RequestsAhead ahead_;
  std::vector<ClosedLoad> closed_;
  RunBook book_;

  TimePoint start_;
  std::unordered_map<std::string, Session> sessions_;
  std::deque<std::pair<ReadyRequest, TimePoint>> held_;  // by limit_concurrency; with their scheduled instants
  std::vector<User> users_;
  std::unordered_map<const ActiveRequest*, std::unique_ptr<ActiveRequest>> active_;
  std::unordered_map<std::uint64_t, TimerId> pending_;  // calls to come, of arrivals, users, sessions and retries
  std::uint64_t next_pending_ = 0;
  std::optional<TimerId> tick_call_;
  std::uint64_t raised_prompts_ = 0;
  TimePoint tick_due_;
  TimePoint progress_due_;
  std::vector<double> delays_;
  bool interrupted_ = false;
  bool finished_ = false;
};

std::string LoadRun::Work::body_of(const PlannedRequest& plan) {
  if (!plan.text && plan.prompt_tokens <= options_.overhead) ++raised_prompts_;
  return request_body(options_.form, {{"user", writer_.write(plan, options_.overhead)}}, plan.output_tokens);
}

// Calls that have not come when the run is over never do.
void LoadRun::Work::later(TimePoint at, std::function<void()> call) {
  const auto which = next_pending_++;
  pending_[which] = transport_.call_at(at, [this, which, call = std::move(call)] {
    pending_.erase(which);
    call();
  });
}

void LoadRun::Work::make_ahead() {
  ahead_.fill([this](const PlannedRequest& first) { return transport_.now() >= start_ + first.at; });
}

void LoadRun::Work::schedule_next() {
  if (ahead_.empty()) {
    make_ahead();
    if (ahead_.empty()) return;
  }
  later(start_ + ahead_.first().at, [this] { send_due(); });
}

void LoadRun::Work::send_due() {
  const TimePoint now = transport_.now();
  while (!ahead_.empty() && start_ + ahead_.first().at <= now) {
    ReadyRequest ready = ahead_.take();
    const TimePoint scheduled = start_ + ready.plan.at;
    auto* session = options_.sessions_wait && !ready.plan.session.empty() ? &sessions_[ready.plan.session] : nullptr;
    if (session != nullptr && session->busy) {
      session->waiting.push_back(std::move(ready));
    } else {
      if (session != nullptr) session->busy = true;
      arrive(std::move(ready), scheduled, scheduled);
    }
    if (ahead_.empty()) make_ahead();
  }
  make_ahead();
  schedule_next();
}

// `due`: when it could be sent; later than `scheduled` where something was waited for that is not ours.
void LoadRun::Work::arrive(ReadyRequest ready, TimePoint scheduled, TimePoint due) {
  if (options_.limit_concurrency > 0 && active_.size() >= options_.limit_concurrency) {
    held_.emplace_back(std::move(ready), scheduled);
    return;
  }
  auto sample = book_.open(ready.plan, scheduled, due, transport_.now());
  auto request = std::make_unique<ActiveRequest>(transport_, *this, std::move(sample), false);
  request->session = ready.plan.session;
  request->cancel_after = ready.plan.cancel_after;
  request->outgoing = outgoing(ready.plan, std::move(ready.body));
  start(std::move(request));
}

void LoadRun::Work::session_goes_on(const std::string& name, TimePoint at) {
  auto& session = sessions_[name];
  if (session.waiting.empty()) {
    session.busy = false;
    return;
  }
  auto ready = std::make_shared<ReadyRequest>(std::move(session.waiting.front()));
  session.waiting.pop_front();
  const TimePoint due = std::max(at + ready->plan.think, start_ + ready->plan.at);
  later(due, [this, ready, due] { arrive(std::move(*ready), due, due); });
}

void LoadRun::Work::ask(std::size_t which) {
  auto& user = users_[which];
  const ClosedLoad& load = *user.load;
  if (user.turn == 0) {
    user.conversation.clear();
    if (load.shared_prefix_tokens > 0)
      user.conversation.push_back({"system", writer_.write(load.seed, load.shared_prefix_tokens)});
  }
  const std::uint64_t draw = which * 1'000'003ULL + user.draws++;
  PlannedRequest plan;
  plan.class_index = load.class_index;
  plan.application = load.application;
  plan.tenant = load.tenant;
  plan.prompt_tokens = load.prompt(draw);
  plan.output_tokens = load.output(draw);
  plan.text_seed = load.seed ^ ((draw + 1) * 0x9E3779B97F4A7C15ULL);
  const bool alone = user.conversation.empty();
  user.conversation.push_back({"user", writer_.write(plan, alone ? options_.overhead : 0)});
  const TimePoint now = transport_.now();
  auto sample = book_.open(plan, now, now, now);
  if (!alone) sample.prompt_asked = 0;  // what a template puts around further messages is not known
  auto request = std::make_unique<ActiveRequest>(transport_, *this, std::move(sample), load.turns > 1);
  request->user = which;
  request->outgoing = outgoing(plan, request_body(options_.form, user.conversation, plan.output_tokens));
  start(std::move(request));
}

void LoadRun::Work::user_goes_on(std::size_t which, const ActiveRequest& done, TimePoint at) {
  auto& user = users_[which];
  const bool complete = done.sample.record.outcome == Outcome::kComplete;
  if (complete && ++user.turn < user.load->turns) {
    user.conversation.push_back({"assistant", done.text()});
  } else {
    user.turn = 0;
  }
  // A server that refuses at once is not asked again at once.
  const Duration pause = complete ? Duration(0) : Duration(std::chrono::milliseconds(100));
  later(at + std::max(user.load->think(user.draws), pause), [this, which] { ask(which); });
}

OutgoingRequest LoadRun::Work::outgoing(const PlannedRequest& plan, std::string body) const {
  OutgoingRequest request;
  request.target = target_of(options_.form.endpoint);
  request.body = std::move(body);
  request.headers = options_.headers;
  if (!options_.send_labels) return request;
  const auto label = [&](const char* name, const std::string& value) {
    if (!value.empty()) request.headers.emplace_back(name, value);
  };
  label("x-takt-class", classes_[plan.class_index].service_class);
  label("x-takt-app", plan.application);
  label("x-takt-tenant", plan.tenant);
  label("x-takt-user", plan.user);
  return request;
}

void LoadRun::Work::start(std::unique_ptr<ActiveRequest> request) {
  auto& one = *request;
  one.timeout = options_.timeout;
  one.may_repeat = options_.honour_retry_after;
  active_.emplace(&one, std::move(request));
  one.begin();
}

bool LoadRun::Work::retry(ActiveRequest& request, TimePoint at) {
  const auto& sample = request.sample;
  const bool refused = sample.failure == Failure::kRateLimited || sample.failure == Failure::kOverloaded;
  const auto wait = request.retry_after_seconds();
  if (!options_.honour_retry_after || !refused || !wait || sample.retries >= kMostRetries || finished_) return false;
  const TimePoint again = at + std::min(from_seconds(std::min(*wait, 1e6)), kLongestRetryWait);
  later(again, [&request] { request.begin_again(); });
  return true;
}

void LoadRun::Work::request_over(ActiveRequest& request, TimePoint at) {
  if (retry(request, at)) return;
  const auto found = active_.find(&request);
  const auto done = std::move(found->second);
  active_.erase(found);
  if (!finished_ && done->user) user_goes_on(*done->user, *done, at);
  if (!finished_ && options_.sessions_wait && !done->session.empty()) session_goes_on(done->session, at);
  book_.keep(std::move(done->sample));
  if (!finished_ && !held_.empty()) {
    auto [ready, scheduled] = std::move(held_.front());
    held_.pop_front();
    arrive(std::move(ready), scheduled, at);
  }
}

void LoadRun::Work::report_progress(TimePoint now) {
  if (!options_.on_progress || now < progress_due_) return;
  progress_due_ = now + kProgressEvery;
  RunProgress progress;
  book_.describe(now, progress);
  progress.elapsed = now - start_;
  if (options_.measured) progress.planned = options_.warm_up + *options_.measured;
  progress.in_flight = active_.size();
  options_.on_progress(progress);
}

void LoadRun::Work::tick() {
  tick_call_.reset();
  const TimePoint now = transport_.now();
  delays_.push_back(to_seconds(now - tick_due_));
  if (options_.interrupted && options_.interrupted()) interrupted_ = true;
  report_progress(now);
  // Between sends, so that nobody waits for it.
  make_ahead();
  tick_due_ = std::max(tick_due_ + kTick, now);
  if (finished_ || over()) return;
  tick_call_ = transport_.call_at(tick_due_, [this] { tick(); });
}

bool LoadRun::Work::over() {
  if (interrupted_) return true;
  const TimePoint now = transport_.now();
  book_.look_at(now);
  const std::optional<TimePoint>& offer_ended = book_.offer_ended();
  if (offer_ended) return book_.measured_open() == 0 || now >= *offer_ended + options_.drain;
  const bool nobody_comes = users_.empty() && ahead_.ended() && ahead_.empty() && held_.empty();
  return nobody_comes && active_.empty() && pending_.empty();
}

void LoadRun::Work::stop_all() {
  finished_ = true;
  const TimePoint now = transport_.now();
  for (const auto& [which, timer] : pending_) transport_.cancel_call(timer);
  pending_.clear();
  if (tick_call_) transport_.cancel_call(*tick_call_);
  while (!active_.empty()) {
    auto& request = *active_.begin()->second;
    if (interrupted_) book_.leave_out(request.sample);
    request.give_up(now);
  }
}

RunResult LoadRun::Work::execute() {
  make_ahead();
  start_ = transport_.now() + (ahead_.empty() ? Duration(0) : kHeadStart);
  book_.begin(start_);
  for (const auto& load : closed_) {
    for (std::uint32_t i = 0; i < load.users; ++i) users_.emplace_back().load = &load;
  }
  tick_due_ = start_;
  progress_due_ = start_ + kProgressEvery;
  tick_call_ = transport_.call_at(start_, [this] {
    for (std::size_t user = 0; user < users_.size(); ++user) ask(user);
    tick();
  });
  schedule_next();
  transport_.run_until([this] { return over(); });
  const TimePoint stopped = transport_.now();
  stop_all();
  RunResult done = result();
  if (interrupted_ && (!book_.offer_ended() || stopped < *book_.offer_ended())) done.run.end = stopped;
  return done;
}

RunResult LoadRun::Work::result() {
  RunResult result;
  result.interrupted = interrupted_;
  result.open_load = users_.empty();
  result.drained_under_load = book_.offer_ended().has_value();
  result.raised_prompts = raised_prompts_;
  result.source_error = ahead_.error();
  result.run = book_.finish();
  std::sort(delays_.begin(), delays_.end());
  result.loop_delay_p99 = measure::percentile(delays_, 0.99).value_or(0.0);
  result.loop_delay_most = delays_.empty() ? 0.0 : delays_.back();
  return result;
}

LoadRun::LoadRun(Transport& transport, const PromptWriter& writer, const std::vector<LoadClass>& classes,
                 RunOptions options)
    : work_(std::make_unique<Work>(transport, writer, classes, std::move(options))) {}
LoadRun::~LoadRun() = default;

void LoadRun::set_source(std::unique_ptr<RequestSource> source) {
  work_->read_from(std::move(source));
}

void LoadRun::add_closed(ClosedLoad load) {
  work_->add_closed(std::move(load));
}

RunResult LoadRun::execute() {
  return work_->execute();
}

}  // namespace takt::load
