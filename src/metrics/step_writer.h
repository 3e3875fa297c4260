// Step records as lines of JSON, each written against what the lines before it said (docs/metrics.md has the format).
// Appends to texts of the caller's: where they have room, nothing is allocated for a step.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/step_records.h"

namespace takt::metrics {

// The first line of every file of a log. `part`: 0 for the first; `run`: the same for all files of one run.
inline constexpr int kStepLogVersion = 3;
inline constexpr std::string_view kStepLogBeginning = R"({"format":"takt-step-log")";
std::string step_log_head(const std::vector<std::string>& model_names, std::int64_t run, std::uint64_t part);

// Of one engine.
class StepWriter {
 public:
  explicit StepWriter(ModelIndex model) : model_(model) {}

  void start(std::string& out, const EngineStarted& started, TimePoint now);
  void add(std::string& out, const SequenceAdded& added, TimePoint now);
  void remove(std::string& out, const SequenceRemoved& removed, TimePoint now);
  void change(std::string& out, const SchedulerOptions& options, TimePoint now);
  void set_reserve(std::string& out, const ReserveSet& reserve, TimePoint now);
  void lose(std::string& out, const SwappedLost& lost, TimePoint now);
  void plan(std::string& out, const CapacityView& view, const StepPlan& plan, TimePoint now);
  void commit(std::string& out, std::span<const SequenceProgress> progress, Duration measured, bool observed,
              TimePoint now);
  void lost(std::string& out, std::uint64_t count) const;
  // All that a reader must know who begins here. Not between a plan and its commit.
  void resume(std::string& out);

 private:
  void open(std::string& out) const;
  std::int64_t begin(std::string& out, TimePoint now);
  void end(std::string& out) const;
  void entries(std::string& out, const StepPlan& plan) const;
  void view(std::string& out, const CapacityView& view) const;
  void put_start(std::string& out, bool continued) const;

  const ModelIndex model_;
  EngineStarted started_;
  TapeState state_;
};

}  // namespace takt::metrics
