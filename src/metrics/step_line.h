// One line of a step log -> a record, against the state of its engine.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "base/result.h"
#include "metrics/step_records.h"

namespace takt::metrics {

// Errors (kInvalidArgument): what is wrong with it.
Result<StepRecord> parse_step_line(std::string_view line, std::map<std::uint32_t, TapeState>& states);

}  // namespace takt::metrics
