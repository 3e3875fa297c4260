// Which unstarted sequences may enter: batch windows, and batches that are closed while they run.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "sched/options.h"
#include "sched/places.h"

namespace takt {

struct WindowView {
  std::uint32_t waiting = 0;
  std::uint32_t running = 0;
  Duration oldest_wait{0};
};
bool window_opens(const WindowOptions& window, const WindowView& view);

// Moves each tier's gate as far as the rules allow. What was let through stays through. True when a new closed batch
// has begun to form. Its cost depends on the window's size, not on how many wait.
bool open_gates(const SchedulerOptions& options, SequencePlaces& places, TimePoint now);

// A closed batch takes nobody later: those it found no blocks or seats for wait for its end.
void close_gate(TierQueues& queues, std::uint64_t last_admitted);

}  // namespace takt
