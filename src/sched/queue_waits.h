// Names, in a plan, why each queue that got nothing got nothing, and keeps the queues' accounts of it.
#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "core/step.h"
#include "sched/entrance.h"
#include "sched/places.h"

namespace takt {

// Who enters with a plan, by queue.
class QueueAdmissions {
 public:
  explicit QueueAdmissions(std::pmr::memory_resource* memory) : unstarted_{Lanes(memory), Lanes(memory)} {}

  void add(const ScheduledSequence& sequence);

  struct Lane {
    std::uint32_t count = 0;
    std::uint64_t youngest = 0;  // order of the one that came last
  };
  std::uint32_t resuming(Tier tier) const { return resuming_[index_of(tier)]; }
  Lane unstarted(Tier tier, std::size_t lane) const;

 private:
  using Lanes = std::pmr::vector<Lane>;

  std::array<std::uint32_t, kTiers.size()> resuming_{};
  std::array<Lanes, kTiers.size()> unstarted_;  // by lane
};

struct WaitMoment {
  bool batch_is_closed = false;  // what the gate holds back waits for the batch's end, else for a window
  TimePoint now;
};

void name_waits(SequencePlaces& places, const Entrance& entrance, const QueueAdmissions& admissions,
                const WaitMoment& moment, StepPlan& plan);

}  // namespace takt
