#include "serve/delivery.h"

#include <chrono>
#include <exception>
#include <utility>

#include "base/log.h"
#include "base/thread_name.h"

namespace takt::serve {

namespace {

// How often open answers are looked at without any event: fine enough for comment lines and slow readers.
constexpr auto kTick = std::chrono::milliseconds(50);

// The request that an event is about; null for those that are about no single one.
struct RequestOf {
  const RequestId* operator()(const Accepted& event) const { return &event.request; }
  const RequestId* operator()(const Admitted& event) const { return &event.request; }
  const RequestId* operator()(const Seated& event) const { return &event.request; }
  const RequestId* operator()(const Preempted& event) const { return &event.request; }
  const RequestId* operator()(const TailTaken& event) const { return &event.request; }
  const RequestId* operator()(const SwapLost& event) const { return &event.request; }
  const RequestId* operator()(const TokenSampled& event) const { return &event.request; }
  const RequestId* operator()(const PromptScored& event) const { return &event.request; }
  const RequestId* operator()(const ChoiceFinished& event) const { return &event.request; }
  const RequestId* operator()(const Closed& event) const { return &event.request; }
  template <typename Other>
  const RequestId* operator()(const Other&) const {
    return nullptr;
  }
};

// Hands an event to somebody when it is one that they know.
template <typename Receiver>
struct HandTo {
  Receiver& receiver;
  TimePoint at;
  template <typename What>
  void operator()(const What& what) const {
    if constexpr (requires { receiver.on(at, what); }) receiver.on(at, what);
  }
};

// A fault in one answer's text ends that answer and no other.
template <typename Work>
void contain(Answer& answer, TimePoint now, Work work) {
  try {
    work();
  } catch (const std::exception& failure) {
    spdlog::error("request {}: {}", api::request_name(answer.id()), failure.what());
    answer.fail(Error::internal("The answer could not be written"), now);
  }
}

}  // namespace

Delivery::Delivery(const Clock& clock, std::vector<EventSink*> followers)
    : clock_(clock), followers_(std::move(followers)), load_(clock), thread_([this] { run(); }) {}

Delivery::~Delivery() {
  stop();
}

void Delivery::stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  has_messages_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Delivery::open(std::unique_ptr<Answer> answer) {
  {
    std::lock_guard lock(mutex_);
    ++open_;
  }
  post(std::move(answer));
}

void Delivery::withdraw(std::vector<RequestId> parts) {
  if (!parts.empty()) post(Withdraw{std::move(parts)});
}

void Delivery::fail(RequestId id, Error error) {
  post(Fail{id, std::move(error)});
}

void Delivery::abandon(RequestId id, CancelCause cause) {
  post(Abandon{id, cause});
}

void Delivery::give_up(Error error) {
  post(GiveUp{std::move(error)});
}

void Delivery::publish(const std::vector<Event>& events) noexcept {
  try {
    std::vector<Event> ours;
    for (const Event& event : events) {
      if (std::visit(RequestOf{}, event.what) != nullptr) ours.push_back(event);
    }
    if (!ours.empty()) post(std::move(ours));
  } catch (const std::exception& failure) {
    spdlog::error("events of answers were lost: {}", failure.what());
  }
}

std::size_t Delivery::open_answers() const {
  std::lock_guard lock(mutex_);
  return open_;
}

bool Delivery::wait_until_idle(Duration limit) const {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, limit, [this] { return open_ == 0; });
}

void Delivery::post(Message message) {
  {
    std::lock_guard lock(mutex_);
    inbox_.push_back(std::move(message));
  }
  has_messages_.notify_one();
}

void Delivery::run() {
  name_this_thread("takt-delivery");
  TimePoint next_tick = clock_.now();
  while (true) {
    auto messages = wait_for_messages(!answers_.empty());
    if (messages.empty()) {
      std::lock_guard lock(mutex_);
      if (stop_ && inbox_.empty()) break;
    }
    for (Message& message : messages) std::visit([this](auto& what) { take(what); }, message);
    const TimePoint now = clock_.now();
    const bool tick = now >= next_tick;
    if (tick) next_tick = now + kTick;
    flush_and_retire(now, tick);
  }
  GiveUp end{{ErrorCode::kUnavailable, "The server is shutting down", "draining"}};
  take(end);
  flush_and_retire(clock_.now(), false);
}

std::vector<Delivery::Message> Delivery::wait_for_messages(bool ticking) {
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return stop_ || !inbox_.empty(); };
  if (ticking) {
    has_messages_.wait_for(lock, kTick, ready);
  } else {
    has_messages_.wait(lock, ready);
  }
  return std::exchange(inbox_, {});
}

void Delivery::take(std::unique_ptr<Answer>& answer) {
  Answer& opened = *answer;
  for (const AnswerPart& part : opened.parts()) {
    by_part_[part.id] = &opened;
    unaccepted_.try_emplace(part.id);
  }
  answers_[opened.id()] = std::move(answer);
}

void Delivery::take(Withdraw& message) {
  for (const RequestId part : message.parts) {
    const auto found = unaccepted_.find(part);
    if (found == unaccepted_.end()) continue;
    found->second.withdrawn = true;
    if (found->second.outcome) unaccepted_.erase(found);
  }
}

void Delivery::take(Fail& message) {
  if (const auto found = answers_.find(message.id); found != answers_.end())
    found->second->fail(message.error, clock_.now());
}

void Delivery::take(Abandon& message) {
  if (const auto found = answers_.find(message.id); found != answers_.end())
    found->second->abandon(message.cause, clock_.now());
}

void Delivery::take(GiveUp& message) {
  const TimePoint now = clock_.now();
  for (auto& [id, answer] : answers_) {
    Answer& open = *answer;
    contain(open, now, [&] { open.give_up(message.error, now); });
  }
}

void Delivery::tell_followers(const std::vector<Event>& events) {
  for (EventSink* follower : followers_) follower->publish(events);
}

// An answer may be over before the engine has come to accept it: its step was under way while the client left.
void Delivery::tell_held_back(const std::vector<Event>& events) {
  std::vector<Event> delivered;
  for (const Event& event : events) {
    const auto* accepted = std::get_if<Accepted>(&event.what);
    if (accepted == nullptr) continue;
    const auto found = unaccepted_.find(accepted->request);
    if (found == unaccepted_.end()) continue;
    if (const auto outcome = found->second.outcome)
      delivered.push_back({event.at, Delivered{accepted->request, *outcome}});
    unaccepted_.erase(found);
  }
  if (!delivered.empty()) tell_followers(delivered);
}

void Delivery::take(std::vector<Event>& events) {
  tell_followers(events);
  tell_held_back(events);
  for (const Event& event : events) {
    std::visit(HandTo<LoadEstimate>{load_, event.at}, event.what);
    const RequestId* request = std::visit(RequestOf{}, event.what);
    Answer* answer = request != nullptr ? find(*request) : nullptr;
    if (answer != nullptr)
      contain(*answer, event.at, [&] { std::visit(HandTo<Answer>{*answer, event.at}, event.what); });
  }
}

Answer* Delivery::find(RequestId part) {
  const auto found = by_part_.find(part);
  return found == by_part_.end() ? nullptr : found->second;
}

void Delivery::flush_and_retire(TimePoint now, bool tick) {
  std::size_t retired = 0;
  std::vector<Event> delivered;
  for (auto it = answers_.begin(); it != answers_.end();) {
    Answer& answer = *it->second;
    contain(answer, now, [&] {
      answer.flush(now);
      if (tick) answer.tick(now);
    });
    if (!answer.over()) {
      ++it;
      continue;
    }
    for (const AnswerPart& part : answer.parts()) {
      by_part_.erase(part.id);
      const auto unaccepted = unaccepted_.find(part.id);
      if (unaccepted == unaccepted_.end()) {
        delivered.push_back({now, Delivered{part.id, answer.outcome()}});
      } else if (unaccepted->second.withdrawn) {
        unaccepted_.erase(unaccepted);
      } else {
        unaccepted->second.outcome = answer.outcome();
      }
    }
    it = answers_.erase(it);
    ++retired;
  }
  if (retired == 0) return;
  tell_followers(delivered);
  {
    std::lock_guard lock(mutex_);
    open_ -= retired;
  }
  idle_.notify_all();
}

}  // namespace takt::serve
