// Names, class by class, who holds blocks of the classes whose blocks are reserved or limited: of these the next plan
// must know what they share.
#pragma once

#include <span>
#include <vector>

#include "core/ids.h"
#include "sched/options.h"
#include "sched/places.h"

namespace takt {

class LimitedMembers {
 public:
  // Valid until the next call.
  std::span<const std::vector<SequenceId>> name(const SchedulerOptions& options, const SequencePlaces& places);

 private:
  std::vector<std::vector<SequenceId>> by_class_;
};

}  // namespace takt
