// Time as a dependency: the server runs on SteadyClock, tests and the simulator on ManualClock.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace takt {

using Duration = std::chrono::nanoseconds;
// Nanoseconds on a monotonic scale; only differences mean something.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

inline double to_seconds(Duration d) {
  return std::chrono::duration<double>(d).count();
}
inline Duration from_seconds(double s) {
  return Duration(static_cast<std::int64_t>(s * 1e9));
}

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

// Moves only when told to. Safe to read from any thread.
class ManualClock final : public Clock {
 public:
  TimePoint now() const override { return TimePoint(Duration(ns_.load(std::memory_order_acquire))); }
  void advance(Duration d) { ns_.fetch_add(d.count(), std::memory_order_acq_rel); }

 private:
  std::atomic<std::int64_t> ns_{0};
};

}  // namespace takt
