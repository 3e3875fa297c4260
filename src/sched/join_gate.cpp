#include "sched/join_gate.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace takt {

namespace {

// Members behind the gate, at most `enough` of them, and when the oldest of these came.
struct Held {
  std::uint32_t count = 0;
  TimePoint oldest = TimePoint::max();
  bool impatient = false;  // one of them may not be held any longer
};

Held held_back(const TierQueues& queues, std::uint32_t enough, TimePoint now) {
  Held held;
  for (auto s = queues.unstarted.rbegin(); s != queues.unstarted.rend(); ++s) {
    if (s->order <= queues.open_to || held.count == enough) break;
    ++held.count;
    held.oldest = s->queued_at;
    held.impatient = held.impatient || now - s->queued_at >= s->facts.window;
  }
  return held;
}

std::uint32_t wanted(const WindowOptions& window, std::uint32_t running) {
  const auto by_ratio = static_cast<std::uint32_t>(std::ceil(window.served_ratio * running));
  return std::max({window.min_batch, by_ratio, 1U});
}

bool batch_is_over(const SequencePlaces& places) {
  if (!places.running.empty()) return false;
  return std::all_of(places.tiers.begin(), places.tiers.end(), [](const TierQueues& queues) {
    // Siblings follow their leader, which is in one of these places or waits unstarted.
    return queues.resuming.empty() && (queues.unstarted.empty() || queues.unstarted.front().order > queues.open_to);
  });
}

// The first of the queue, as many as there are seats for.
std::uint64_t end_of_batch(const TierQueues& queues, std::uint32_t& seats) {
  std::uint64_t end = queues.open_to;
  for (auto s = queues.unstarted.begin(); s != queues.unstarted.end() && seats > 0; ++s, --seats) end = s->order;
  return end;
}

}  // namespace

bool window_opens(const WindowOptions& window, const WindowView& view) {
  if (view.waiting == 0) return false;
  if (!window.holds() || (window.adaptive && view.running == 0)) return true;
  return view.waiting >= wanted(window, view.running) || view.oldest_wait >= window.max_wait;
}

bool open_gates(const SchedulerOptions& options, SequencePlaces& places, TimePoint now) {
  const bool closes = options.join == JoinRule::kWhenEmpty;
  if (closes && !batch_is_over(places)) return false;
  const auto running = static_cast<std::uint32_t>(places.running.size());
  std::uint32_t seats = options.max_sequences;
  bool opened = false;
  for (TierQueues& queues : places.tiers) {
    const Held held = held_back(queues, wanted(options.window, running), now);
    const Duration oldest_wait = held.count > 0 ? now - held.oldest : Duration::zero();
    const bool impatient = held.impatient && options.window.adaptive;
    if (!impatient && !window_opens(options.window, {held.count, running, oldest_wait})) continue;
    queues.open_to = closes ? end_of_batch(queues, seats) : queues.unstarted.back().order;
    opened = true;
  }
  return closes && opened;
}

void close_gate(TierQueues& queues, std::uint64_t last_admitted) {
  queues.open_to = std::min(queues.open_to, last_admitted);
}

}  // namespace takt
