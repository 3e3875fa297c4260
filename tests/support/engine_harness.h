// An engine over the fake executor in virtual time, and a record of what it published.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "core/event.h"
#include "engine/engine.h"
#include "exec/fake/fake_executor.h"
#include "swap/open_store.h"
#include "swap/timed_store.h"

namespace takt::testing {

struct ChoiceRecord {
  std::vector<TokenId> tokens;
  std::vector<TimePoint> times;
  std::optional<ChoiceFinished> finished;
};

struct RequestHistory {
  std::optional<Accepted> accepted;
  std::optional<Admitted> admitted;
  TimePoint admitted_at;
  std::map<std::uint32_t, ChoiceRecord> choices;
  std::vector<PromptLogprob> scored;
  std::uint32_t preempted = 0;
  std::uint32_t swapped_tokens = 0;  // by all its preemptions, and while it waited
  std::uint32_t dropped_tokens = 0;
  std::uint32_t tails_taken = 0;  // while it waited
  std::uint32_t swaps_lost = 0;
  std::vector<std::size_t> preempted_after;  // tokens of the choice so far, at each preemption
  std::vector<std::pair<TimePoint, Seated>> seated;
  std::optional<Closed> closed;
  int events_after_close = 0;
};

// Keeps every event, per request and in order.
class Recorder final : public EventSink {
 public:
  void publish(const std::vector<Event>& events) noexcept override {
    for (const Event& event : events) std::visit([&](const auto& what) { note(event.at, what); }, event.what);
  }

  RequestHistory& of(std::uint64_t id) { return requests[id]; }
  const std::vector<TokenId>& tokens(std::uint64_t id, std::uint32_t choice = 0) {
    return requests[id].choices[choice].tokens;
  }

  std::map<std::uint64_t, RequestHistory> requests;
  std::vector<StepCommitted> steps;
  std::vector<StepFailed> failures;
  std::vector<IdleWhileWorkWaits> idles;
  bool keep_steps = true;

 private:
  RequestHistory& touch(RequestId id) {
    RequestHistory& history = requests[id.value];
    if (history.closed) ++history.events_after_close;
    return history;
  }
  void note(TimePoint, const Accepted& e) { touch(e.request).accepted = e; }
  void note(TimePoint at, const Admitted& e) {
    RequestHistory& history = touch(e.request);
    history.admitted = e;
    history.admitted_at = at;
  }
  void note(TimePoint at, const Seated& e) {
    RequestHistory& history = touch(e.request);
    history.seated.push_back({at, e});
  }
  void note(TimePoint at, const TokenSampled& e) {
    ChoiceRecord& choice = touch(e.request).choices[e.choice];
    EXPECT_EQ(e.index, choice.tokens.size()) << "tokens of a choice come once and in order";
    choice.tokens.push_back(e.token.token);
    choice.times.push_back(at);
  }
  void note(TimePoint, const PromptScored& e) {
    auto& scored = touch(e.request).scored;
    scored.insert(scored.end(), e.logprobs.begin(), e.logprobs.end());
  }
  void note(TimePoint, const Preempted& e) {
    RequestHistory& history = touch(e.request);
    ++history.preempted;
    history.swapped_tokens += e.swapped_tokens;
    history.dropped_tokens += e.dropped_tokens;
    history.preempted_after.push_back(history.choices[e.choice].tokens.size());
  }
  void note(TimePoint, const TailTaken& e) {
    RequestHistory& history = touch(e.request);
    ++history.tails_taken;
    history.swapped_tokens += e.swapped_tokens;
    history.dropped_tokens += e.dropped_tokens;
  }
  void note(TimePoint, const SwapLost& e) { ++touch(e.request).swaps_lost; }
  void note(TimePoint, const ChoiceFinished& e) { touch(e.request).choices[e.choice].finished = e; }
  void note(TimePoint, const Closed& e) { touch(e.request).closed = e; }
  void note(TimePoint, const Delivered&) {}
  void note(TimePoint, const StepCommitted& e) {
    if (keep_steps) steps.push_back(e);
  }
  void note(TimePoint, const IdleWhileWorkWaits& e) { idles.push_back(e); }
  void note(TimePoint, const StepFailed& e) { failures.push_back(e); }
};

inline std::vector<TokenId> letters(std::uint32_t count, std::uint32_t start = 0) {
  std::vector<TokenId> tokens;
  for (std::uint32_t i = 0; i < count; ++i) tokens.push_back(static_cast<TokenId>('a' + (start + i * 7 + i / 5) % 26));
  return tokens;
}

struct EngineHarness {
  explicit EngineHarness(FakeScript fake_script, EngineOptions engine_options = {},
                         std::optional<TimedStoreScript> arena = {})
      : script(std::move(fake_script)), options(std::move(engine_options)) {
    auto executor = make_fake_executor(script, clock, advance(clock));
    std::unique_ptr<SwapStore> swap;
    if (arena) swap = TimedStore::create(*arena, swap_page_bytes(executor->capabilities().groups), clock).value();
    auto created = Engine::create(std::move(executor), clock, options, {&events}, nullptr, nullptr, std::move(swap));
    EXPECT_TRUE(created.ok()) << (created.ok() ? "" : created.error().message);
    if (created.ok()) engine = std::move(created.value());
  }

  EngineRequest request(std::uint64_t id, std::vector<TokenId> prompt,
                        std::optional<std::uint32_t> max_tokens = {}) const {
    EngineRequest r;
    r.id = RequestId(id);
    r.prompt = std::move(prompt);
    r.max_tokens = max_tokens;
    r.arrival = clock.now();
    r.end_tokens = {kFakeImEnd, kFakeEndOfText};
    r.sampling.seed = 1000 + id;
    return r;
  }
  Status submit(std::uint64_t id, std::vector<TokenId> prompt, std::optional<std::uint32_t> max_tokens = {}) {
    return engine->submit(request(id, std::move(prompt), max_tokens));
  }

  // Steps until nothing is left; false when that takes more than `most` turns.
  bool run(int most = 100000) {
    for (int i = 0; i < most; ++i) {
      if (engine->step() == StepOutcome::kNoWork && engine->idle()) return true;
    }
    return false;
  }
  void step(int times = 1) {
    for (int i = 0; i < times; ++i) engine->step();
  }

  FakeScript script;
  EngineOptions options;
  ManualClock clock;
  Recorder events;
  std::unique_ptr<Engine> engine;
};

// A script whose steps cost little of everything.
inline FakeScript quick_script() {
  FakeScript script;
  script.step_cost = std::chrono::milliseconds(2);
  script.token_cost = std::chrono::microseconds(100);
  script.attended_cost = std::chrono::nanoseconds(50);
  return script;
}

}  // namespace takt::testing
