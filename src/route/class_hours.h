// Hours of the day in which a class has other limits.
#pragma once

#include <optional>
#include <string>

#include "route/local_time.h"
#include "route/options.h"

namespace takt::route {

// Minutes of the day of "HH:MM"; empty when it is none.
std::optional<int> minute_of(const std::string& clock_time);

// From `from` on, up to and without `to`. Hours that end at or before they begin go on into the next day, and belong to
// the day on which they begin; equal ends are a whole day. What counts is the clock on the wall: a time that is skipped
// in spring is skipped, one that comes twice in autumn holds both times. The hours have passed check_hours.
bool holds(const ClassHours& hours, const LocalTime& now);

// What is in force: the first hours that hold, else what always holds.
const ClassSettings& in_force(const ClassOptions& options, const LocalTime& now);

}  // namespace takt::route
