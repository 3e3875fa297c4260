// Numbers as people read them.
#pragma once

#include <optional>
#include <string>

#include "measure/bootstrap.h"

namespace takt::report {

std::string seconds_text(double seconds);  // "850 us", "12.3 ms", "1.42 s", "3.1 min"
std::string number_text(double value);     // three digits that matter
std::string share_text(double share);      // "93.4 %"
std::string count_text(std::uint64_t count);

// "n/a" where there are too few samples to tell.
std::string seconds_text(const std::optional<double>& seconds);
// "12.3 ms [11.8 ms, 12.9 ms]"
std::string seconds_text(const std::optional<double>& seconds, const std::optional<measure::Interval>& interval);

}  // namespace takt::report
