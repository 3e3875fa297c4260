// Keeps the beat at admission: a realtime sequence enters only while the decode rows of all realtime sequences alone
// are predicted to take less than a share of the tightest inter-token target.
#pragma once

#include <optional>

#include "base/clock.h"
#include "core/step.h"
#include "core/step_time_model.h"
#include "sched/options.h"
#include "sched/places.h"

namespace takt {

// Lives for one plan.
class BeatGuard {
 public:
  // Counts the realtime sequences that run. All arguments outlive the guard.
  BeatGuard(const SchedulerOptions& options, const StepTimeModel& model, const SequencePlaces& places);

  // Whether the step of decode rows alone stays short enough with the sequence. A lone one may always enter, and so may
  // whoever gets no decode rows. A target that a single row can't keep on this machine holds nobody back: it is missed
  // either way.
  bool leaves_time_for(const ScheduledSequence& sequence) const;
  // It enters.
  void add(const ScheduledSequence& sequence);

 private:
  bool counts(const ScheduledSequence& sequence) const;
  StepFeatures with_row_of(const ScheduledSequence& sequence) const;
  // Part of its target that rows may fill; empty where nothing holds others back for its sake.
  std::optional<Duration> limit_of(const ScheduledSequence& sequence) const;

  const SchedulerOptions& options_;
  const StepTimeModel& model_;
  const Duration single_row_;
  StepFeatures rows_;
  std::optional<Duration> tightest_;
};

}  // namespace takt
