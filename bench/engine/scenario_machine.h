// What the scenarios run on: the whole engine, over the fake executor in virtual time, or over a real model on this
// machine's CPU.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"

namespace takt::bench {

struct Times {
  std::vector<double> first_ms;
  std::vector<double> gap_ms;
  std::vector<double> done_ms;
  std::uint64_t tokens = 0;
  std::uint32_t preemptions = 0;
};

// 0 without values.
double quantile(std::vector<double> values, double p);

// Times by the application that requests name.
class Watch final : public EventSink {
 public:
  void publish(const std::vector<Event>& events) noexcept override;

  std::map<std::string, Times> groups;
  std::uint32_t ended = 0;
  double most_share_lost = 0.0;  // of admission, by the cascade breaker
  std::uint32_t overruns = 0;    // steps whose rows alone exceeded the budget
  std::uint64_t computed = 0;    // rows

 private:
  struct Request {
    std::string group;
    TimePoint arrival;
    TimePoint last;
    bool has_first = false;
  };
  void note(TimePoint at, const Accepted& e);
  void note(TimePoint at, const TokenSampled& e);
  void note(TimePoint at, const Preempted& e);
  void note(TimePoint at, const Closed& e);
  void note(TimePoint at, const StepCommitted& e);
  template <typename Other>
  void note(TimePoint, const Other&) {}

  std::map<std::uint64_t, Request> requests_;
};

struct Ask {
  const char* group = "";
  std::uint32_t prompt = 64;
  std::uint32_t output = 64;
  Tier tier = Tier::kRealtime;
  const char* tenant = "a";
  Duration itl = std::chrono::milliseconds(100);
  std::uint32_t shared = 0;  // leading tokens that are the same in all of the group, and found in the prefix cache
};

// Where the scenarios run.
struct Place {
  std::string model;  // GGUF file; empty: virtual time
  bool live() const { return !model.empty(); }
  // A small model on a few cores does about a sixth of what the virtual machine does: prompts, answers and memory are
  // scaled down by that, times are not.
  std::uint32_t scaled(std::uint32_t n) const { return live() && n > 1 ? (n + 5) / 6 : n; }
};

// The virtual machine: 8 ms a step, `per_token` a row, 20 ns an attended position; 64 seats.
class Machine {
 public:
  explicit Machine(const Place& place, const EngineOptions& options, std::uint32_t blocks = 4096,
                   Duration per_token = std::chrono::microseconds(350));
  ~Machine();

  // It came at `arrival`, maybe while a step was under way; without it, now.
  void ask(const Ask& ask, std::optional<TimePoint> arrival = {});
  // Steps for so long; `every` is called before each step.
  void run(Duration time, const std::function<void()>& every = {});
  void run_until(const std::function<bool()>& done, const std::function<void()>& every = {});
  EngineStatus status() const { return engine_->status(); }
  Times& of(const std::string& group) { return watch.groups[group]; }
  TimePoint now() const { return clock_->now(); }

  Watch watch;

 private:
  void turn();

  const Place& place_;
  std::unique_ptr<Clock> clock_;
  ManualClock* manual_ = nullptr;  // that clock, in virtual time
  std::unique_ptr<Engine> engine_;
  std::uint32_t vocabulary_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace takt::bench
