// Where the engine thread leaves what others may read. While it steps it waits for no reader: while one reads, an
// update is skipped, and the next one follows a step later. Before it sleeps it waits for the reader's copy.
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
  // Calls fill(entry); where another update follows, not while a reader is at work.
  template <typename Fill>
  void update(bool another_follows, Fill&& fill) {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (!another_follows) {
      lock.lock();
    } else if (!lock.try_lock()) {
      return;
    }
    fill(entry_);
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
