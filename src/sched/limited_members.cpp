#include "sched/limited_members.h"

#include <array>
#include <cstddef>

namespace takt {

std::span<const std::vector<SequenceId>> LimitedMembers::name(const SchedulerOptions& options,
                                                              const SequencePlaces& places) {
  std::array<std::vector<SequenceId>*, kMostClasses + 1> of_lane{};
  std::size_t classes = 0;
  by_class_.resize(options.classes.size());
  for (std::size_t i = 0; i < options.classes.size(); ++i) {
    const ClassLimits& limits = options.classes[i].limits;
    if (limits.reserved.blocks <= 0.0 && limits.ceiling.blocks >= 1.0) continue;
    by_class_[classes].clear();
    of_lane[lane_of(ClassIndex(static_cast<std::uint32_t>(i)))] = &by_class_[classes++];
  }
  if (classes == 0) return {};
  const auto add = [&](const SequenceList& list) {
    for (const ScheduledSequence& s : list) {
      if (s.cover > 0 && of_lane[s.lane] != nullptr) of_lane[s.lane]->push_back(s.facts.id);
    }
  };
  add(places.running);
  for (const TierQueues& tier : places.tiers) add(tier.resuming);
  return std::span<const std::vector<SequenceId>>(by_class_).first(classes);
}

}  // namespace takt
