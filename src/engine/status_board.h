// Where the engine thread leaves what others may read. It never waits for a reader: while one reads, an update is
// skipped, and the next one follows a step later.
#pragma once

#include <atomic>
#include <mutex>

#include "base/clock.h"
#include "engine/status.h"

namespace takt {

struct BoardEntry {
  EngineStatus status;  // ready, reason and worst_token_gap are made when it is read
  StallReport stall;
  TimePoint oldest_last_token = TimePoint::max();  // among sequences that are decoding
  TimePoint planned_at;
};

class StatusBoard {
 public:
  // Calls fill(entry) unless a reader is at work.
  template <typename Fill>
  void update(Fill&& fill) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock.owns_lock()) fill(entry_);
  }
  BoardEntry read() const {
    const std::lock_guard lock(mutex_);
    return entry_;
  }

  void note_progress(TimePoint at) { last_progress_.store(at.time_since_epoch().count(), std::memory_order_release); }
  TimePoint last_progress() const { return TimePoint(Duration(last_progress_.load(std::memory_order_acquire))); }

  void note_executing(bool executing) { executing_.store(executing, std::memory_order_release); }
  bool executing() const { return executing_.load(std::memory_order_acquire); }

 private:
  mutable std::mutex mutex_;
  BoardEntry entry_;
  std::atomic<std::int64_t> last_progress_{0};
  std::atomic<bool> executing_{false};
};

}  // namespace takt
