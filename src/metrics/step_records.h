// What a step log holds, record by record, and the state that its records are written against.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "core/capacity_view.h"
#include "core/ids.h"
#include "core/step.h"
#include "sched/tape.h"

namespace takt::metrics {

// per_step, per_token, per_attended, per_swapped of the step-time model at the start, seconds.
using StepTimeTermValues = std::array<double, 4>;

struct EngineStarted {
  SchedulerOptions options;
  CapacityView memory;  // geometry and totals
  StepTimeTermValues terms{};
  bool continued = false;  // the engine runs on, its living sequences follow: a new file, or records were lost
};

struct SequenceAdded {
  SequenceFacts facts;
  RequestId request;
  std::uint32_t choice = 0;
};

// A sequence that lives where a file begins: it was added before.
struct SequenceLives {
  SequenceAdded added;
  std::uint32_t known = 0;
  std::uint32_t computed = 0;
  std::uint32_t cover = 0;
  bool running = false;
  std::uint32_t swapped_until = 0;  // tokens from `computed` to here are in the swap arena; 0: none are
};

struct SequenceRemoved {
  SequenceId sequence;
  bool natural_end = false;
};

struct OptionsChanged {
  SchedulerOptions options;
};

struct ReserveSet {
  SequenceId sequence;
  std::uint32_t tokens = 0;
};

// What a sequence had in the swap arena is gone.
struct SwappedLost {
  SequenceId sequence;
  std::uint32_t computed = 0;
};

struct StepPlanned {
  CapacityView view;  // geometry and totals are those of EngineStarted
  StepPlan plan;
};

struct StepDone {
  std::vector<SequenceProgress> progress;
  Duration measured{0};
  bool observed = true;
};

// Records are missing here: the disk could not keep up.
struct RecordsLost {
  std::uint64_t count = 0;
};

struct StepRecord {
  ModelIndex model;
  TimePoint at;
  std::variant<EngineStarted, SequenceAdded, SequenceLives, SequenceRemoved, OptionsChanged, ReserveSet, SwappedLost,
               StepPlanned, StepDone, RecordsLost>
      what;
};

// What both sides know after the same records, so that a record need only say what it changes.
struct TapeState {
  TimePoint at;
  BlockGeometry geometry;
  GroupCounts free;
  GroupCounts evictable;
  SwapView swap;  // without arrivals
  StepId step;
  Duration budget{0};
  std::vector<QueueWait> waits;
  std::vector<PlanEntry> entries;  // of the last plan that had any, without those of sequences that are gone
  std::unordered_map<SequenceId, SequenceLives> live;

  void add(const SequenceAdded& added);
  void remove(SequenceId sequence);
  void plan(const CapacityView& view, const StepPlan& plan);
  void set_reserve(const ReserveSet& reserve);
  void lose(const SwappedLost& lost);
  void commit(std::span<const SequenceProgress> progress);

  // The entry of a sequence that goes on with one token and samples: what most entries are.
  PlanEntry next_row(SequenceId sequence) const;
  // What the last plan's entries come to when nothing special happens.
  SequenceProgress usual_progress(const PlanEntry& entry) const;
};

// As far as entries tell; a one-token entry of a sequence that was running counts as a decode row.
StepFeatures features_of(const std::vector<PlanEntry>& entries);

}  // namespace takt::metrics
