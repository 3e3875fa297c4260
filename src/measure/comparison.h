// Which differences between runs are real: bootstrap intervals of the difference, and whether the runs may be compared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/answer_sample.h"
#include "measure/bootstrap.h"

namespace takt::measure {

struct Difference {
  std::string figure;  // e.g. "ttft p50"
  std::string unit;    // "s", "share", "1/s"
  double before = 0.0;
  double after = 0.0;
  Interval interval;  // 95 %, of after - before
  bool smaller_is_better = true;
  bool real() const { return interval.low > 0.0 || interval.high < 0.0; }
};

struct Comparison {
  std::vector<Difference> differences;  // figures that both runs have samples enough for
  std::vector<std::string> warnings;    // what else differs between the runs
};

// Lengths of prompts and answers that were realised: beyond 2 % of the mean the runs did different work, and comparing
// their latencies says nothing about the servers. Empty: they may be compared.
std::optional<std::string> different_work(const MeasuredRun& before, const MeasuredRun& after);

// Measured samples only.
Comparison compare(const MeasuredRun& before, const MeasuredRun& after, std::uint64_t seed = 1);

}  // namespace takt::measure
