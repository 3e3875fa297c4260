// A server that answers by a script, in virtual time: every instant of a test is exact.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "load/transport.h"

namespace takt::load::test {

inline Duration ms(double count) {
  return Duration(static_cast<std::int64_t>(count * 1e6));
}

// What happens to one exchange, each after its begin.
struct Answer {
  int status = 200;
  bool stream = true;
  std::optional<double> retry_after;
  Duration head_after{0};
  std::vector<std::pair<Duration, std::string>> body;
  std::optional<Duration> ends_after;  // empty: it never ends
  measure::Failure failure = measure::Failure::kNone;
};

inline std::string token_event(const std::string& text) {
  return R"(data: {"choices":[{"index":0,"delta":{"content":")" + text + "\"},\"finish_reason\":null}]}\n\n";
}
inline std::string finish_event(int prompt_tokens, int tokens) {
  return R"(data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]})"
         "\n\n"
         R"(data: {"choices":[],"usage":{"prompt_tokens":)" +
         std::to_string(prompt_tokens) + R"(,"completion_tokens":)" + std::to_string(tokens) +
         R"(},"takt":{"queue_seconds":0.25,"preemptions":1}})"
         "\n\ndata: [DONE]\n\n";
}

// First token after `first`, the others `gap` apart.
inline Answer streamed(Duration first, Duration gap, int tokens, int prompt_tokens = 10) {
  Answer answer;
  for (int i = 0; i < tokens; ++i) answer.body.emplace_back(first + gap * i, token_event("x"));
  answer.body.back().second += finish_event(prompt_tokens, tokens);
  answer.ends_after = answer.body.back().first;
  return answer;
}

class ScriptedTransport final : public Transport {
 public:
  using Script = std::function<Answer(const OutgoingRequest& request, std::size_t number)>;
  explicit ScriptedTransport(Script script) : script_(std::move(script)) {}

  // How much later than wanted calls come.
  Duration late{0};
  std::vector<std::pair<TimePoint, OutgoingRequest>> sent;
  std::size_t abandoned = 0;

  TimePoint now() const override { return now_; }
  TimerId call_at(TimePoint at, std::function<void()> call) override {
    const TimerId id = next_++;
    calls_.emplace(std::pair(std::max(at + late, now_), id), std::move(call));
    due_[id] = std::max(at + late, now_);
    return id;
  }
  void cancel_call(TimerId id) override {
    const auto found = due_.find(id);
    if (found == due_.end()) return;
    calls_.erase({found->second, id});
    due_.erase(found);
  }
  ExchangeId send(OutgoingRequest request, ExchangeObserver& observer) override {
    const ExchangeId id = next_++;
    const Answer answer = script_(request, sent.size());
    sent.emplace_back(now_, std::move(request));
    observers_[id] = &observer;
    const auto tell = [this, id](Duration after, std::function<void(ExchangeObserver&)> what) {
      exact_call(now_ + after, [this, id, what = std::move(what)] {
        const auto found = observers_.find(id);
        if (found != observers_.end()) what(*found->second);
      });
    };
    if (answer.status != 0) {
      tell(answer.head_after, [this, answer](ExchangeObserver& one) {
        one.on_head(now_, {answer.status, answer.stream, answer.retry_after});
      });
    }
    for (const auto& [after, bytes] : answer.body)
      tell(after, [this, bytes = bytes](ExchangeObserver& one) { one.on_body(now_, bytes); });
    if (answer.ends_after) {
      tell(*answer.ends_after, [this, id, failure = answer.failure](ExchangeObserver& one) {
        observers_.erase(id);
        one.on_end(now_, failure, "as scripted");
      });
    }
    return id;
  }
  void abandon(ExchangeId id) override { abandoned += observers_.erase(id); }
  void run_until(const std::function<bool()>& done) override {
    while (!done() && !calls_.empty()) {
      auto first = calls_.begin();
      now_ = std::max(now_, first->first.first);
      due_.erase(first->first.second);
      const auto call = std::move(first->second);
      calls_.erase(first);
      call();
    }
  }

 private:
  void exact_call(TimePoint at, std::function<void()> call) {
    const TimerId id = next_++;
    calls_.emplace(std::pair(at, id), std::move(call));
    due_[id] = at;
  }

  Script script_;
  TimePoint now_{Duration(1'000'000'000)};
  std::uint64_t next_ = 1;
  std::map<std::pair<TimePoint, TimerId>, std::function<void()>> calls_;
  std::map<TimerId, TimePoint> due_;
  std::map<ExchangeId, ExchangeObserver*> observers_;
};

}  // namespace takt::load::test
