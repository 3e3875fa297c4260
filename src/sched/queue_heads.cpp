#include "sched/queue_heads.h"

#include <algorithm>

namespace takt {

namespace {

constexpr std::size_t kOfEveryClass = 4;

std::size_t running_of_batch(const SequencePlaces& places) {
  return static_cast<std::size_t>(std::count_if(places.running.begin(), places.running.end(),
                                                [](const auto& s) { return s.facts.tier == Tier::kBatch; }));
}

}  // namespace

void QueueHeads::count_running(const SequencePlaces& places) {
  running_.fill(0);
  for (const ScheduledSequence& s : places.running) ++running_[s.lane];
}

// The ceiling on a class's seats lets no more of it start. One may all the same: somebody of it may lose a seat in the
// plan.
std::size_t QueueHeads::most_of(std::size_t lane, Tier tier, const SchedulerOptions& options) const {
  const ClassIndex index = lane == 0 ? kNoClass : ClassIndex(static_cast<std::uint32_t>(lane - 1));
  const std::size_t ceiling = limits_of(options.classes, index, tier).ceiling.seats;
  return std::max<std::size_t>(1, ceiling - std::min(ceiling, running_[lane]));
}

bool QueueHeads::has_enough(const Count& count, std::size_t lane, std::size_t most_of_lane) const {
  const std::size_t named = count.of_lane[lane];
  return named >= std::min(count.most, most_of_lane) || (count.named >= count.most && named >= kOfEveryClass);
}

void QueueHeads::note(const ScheduledSequence& s, Count& count) {
  ++count.named;
  ++count.of_lane[s.lane];
  if (s.cover == 0 && !s.facts.scores_prompt && !s.is_swapped()) ids_.push_back(s.facts.id);
}

std::span<const SequenceId> QueueHeads::name(const SchedulerOptions& options, const SequencePlaces& places,
                                             ServiceWalk& walk) {
  ids_.clear();
  count_running(places);
  const std::size_t running = places.running.size();
  const std::size_t free_seats = options.max_sequences - std::min<std::size_t>(running, options.max_sequences);
  for (const Tier tier : kTiers) {
    const TierQueues& queues = places.of(tier);
    // A realtime sequence may take the seat of any batch one.
    const std::size_t seats = free_seats + (tier == Tier::kRealtime ? running_of_batch(places) : 0);
    const std::size_t most = std::min<std::size_t>(seats, options.lookahead);
    if (most == 0) continue;
    Count resuming{most};
    for (const ScheduledSequence& s : queues.resuming) {
      if (!has_enough(resuming, s.lane, most_of(s.lane, tier, options))) note(s, resuming);
    }
    Count unstarted{most, std::min(most, resuming.named)};
    walk.start(queues, options.fair, options.max_overtakes);
    while (const ScheduledSequence* s = walk.next()) {
      const std::size_t lane = s->lane;
      note(*s, unstarted);
      walk.take();
      if (has_enough(unstarted, lane, most_of(lane, tier, options))) walk.close_lane(lane);
    }
  }
  return ids_;
}

}  // namespace takt
