// Blocks that admission leaves free so that those who run can go on: the admission rule.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "core/capacity_view.h"
#include "sched/length_forecast.h"
#include "sched/options.h"
#include "sched/places.h"

namespace takt {

// Lives for one plan.
class GrowthReserve {
 public:
  GrowthReserve(const SchedulerOptions& options, const CapacityView& view, const SequencePlaces& places,
                const LengthForecast& forecast);

  // Blocks that must stay free beside the candidate's own when it enters with tables up to `cover`. One that holds
  // blocks already is counted once.
  GroupCounts beside(const ScheduledSequence& candidate, std::uint32_t cover) const;
  // It enters.
  void add(const ScheduledSequence& sequence, std::uint32_t cover);

 private:
  void count(const ScheduledSequence& sequence, std::uint32_t cover);
  GroupCounts promised_to_others(const ScheduledSequence& sequence) const;
  std::pmr::vector<LengthOutlook> outlooks_of_others(const ScheduledSequence& sequence) const;
  GroupCounts growth_to_limit(const ScheduledSequence& sequence, std::uint32_t cover) const;
  LengthOutlook outlook(const ScheduledSequence& sequence, std::uint32_t cover) const;

  const SchedulerOptions& options_;
  const CapacityView& view_;
  const LengthForecast& forecast_;
  GroupCounts promised_;                      // worst case: growth of those who are in
  std::pmr::vector<LengthOutlook> outlooks_;  // predicted: of those who are in
};

}  // namespace takt
