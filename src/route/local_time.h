// Wall time as people read it off a clock.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace takt::route {

struct LocalTime {
  int weekday = 0;  // 0: Monday
  int minute = 0;   // of the day, as the clock on the wall shows it: 0 to 1439, on days of 23 and 25 hours too

  bool operator==(const LocalTime&) const = default;
};

// In the time zone of the process.
LocalTime local_time(std::int64_t unix_seconds);

// Makes `zone` ("Europe/Berlin") the time zone of the process; empty: leaves it as it is. To be called before there are
// other threads. Errors: kInvalidArgument, field "server.time_zone": this system does not know the zone.
Status set_time_zone(const std::string& zone);

}  // namespace takt::route
