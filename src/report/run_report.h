// A measured run as it is told to people and programs: what was measured, on what, and what came of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/capacity.h"
#include "measure/verdict.h"

namespace takt::report {

struct Fact {
  std::string name;
  std::string value;
};

struct RunReport {
  std::string title;
  std::string started;  // wall clock, ISO 8601, UTC
  std::string build;    // of the load generator
  std::vector<Fact> server;
  std::vector<Fact> load;
  std::vector<Fact> generator;
  std::vector<std::string> warnings;  // what the run cannot say, and why
  bool partial = false;               // it was stopped before its end
  measure::MeasuredRun run;
  measure::Verdict verdict;

  // Where a capacity was searched for: `run` is the one at the highest rate that was carried.
  std::vector<measure::RateTrial> trials;
  std::optional<double> capacity;
  bool capacity_is_bounded = false;           // false: no rate that was tried was too much
  measure::Interval capacity_interval;        // only when bounded
  std::optional<double> capacity_stopped_at;  // no run at this rate was valid: the search ended there
  double wanted_attainment = 0.9;
};

}  // namespace takt::report
