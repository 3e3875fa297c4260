// Runs the scheduler over the inputs that a step log holds, and compares its plans with those in the log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "metrics/step_log_reader.h"

namespace takt::app {

struct ReplayReport {
  std::uint64_t plans = 0;  // that came out the same
  std::uint64_t steps = 0;  // of these, committed
  // The first plan that is not the one in the log: which step, and what differs.
  std::optional<std::string> difference;
};

// Errors: those of the reader; kInvalidArgument when records are missing, so that there is nothing to run from.
Result<ReplayReport> replay_plans(metrics::StepLogReader& log);

}  // namespace takt::app
