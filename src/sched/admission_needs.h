// What a waiting sequence takes when it enters: the positions its tables reach, and the blocks for that.
#pragma once

#include <cstdint>

#include "core/capacity_view.h"
#include "sched/options.h"
#include "sched/sequence.h"

namespace takt {

struct AdmissionNeeds {
  std::uint32_t first_position = 0;  // what its prefix in memory leaves
  std::uint32_t cover = 0;
  GroupCounts blocks;  // beside those it holds, those of its prefix that nobody refers to included
};

AdmissionNeeds needs_of(const ScheduledSequence& sequence, const SchedulerOptions& options, const CapacityView& view);

}  // namespace takt
