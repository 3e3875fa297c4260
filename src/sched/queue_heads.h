// Names the first of each queue: of these the next plan must know what is in memory already of their prompts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/service_class.h"
#include "sched/options.h"
#include "sched/places.h"
#include "sched/service_walk.h"

namespace takt {

class QueueHeads {
 public:
  // As many of each tier as may start in their order, and the first ones of every class: those before them may be held
  // up by limits of their own classes. `walk`: for its memory. Valid until the next call.
  std::span<const SequenceId> name(const SchedulerOptions& options, const SequencePlaces& places, ServiceWalk& walk);

 private:
  using ByLane = std::array<std::size_t, kMostClasses + 1>;
  // Of one queue.
  struct Count {
    std::size_t most = 0;   // that can start
    std::size_t named = 0;  // so far
    ByLane of_lane{};
  };

  void count_running(const SequencePlaces& places);
  std::size_t most_of(std::size_t lane, Tier tier, const SchedulerOptions& options) const;
  bool has_enough(const Count& count, std::size_t lane, std::size_t most_of_lane) const;
  void note(const ScheduledSequence& sequence, Count& count);

  std::vector<SequenceId> ids_;
  ByLane running_{};
};

}  // namespace takt
