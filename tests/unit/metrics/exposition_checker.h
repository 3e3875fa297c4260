// A strict reader of the Prometheus text format 0.0.4: what a lenient parser forgives is an error here.
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace takt::metrics {

// Sample name with its labels as written, e.g. `a_total{tier="batch"}` -> value.
using Samples = std::map<std::string, double>;

// Errors name the line. Checked: HELP and TYPE once and before the samples, samples of a family together, names and
// labels well formed and not repeated, values are numbers, counters end in _total and are not negative, histogram
// buckets do not fall, end in +Inf and equal the count.
Result<Samples> parse_strictly(const std::string& text);

}  // namespace takt::metrics
