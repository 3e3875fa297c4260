// Arrivals as a person writes them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace takt::load {

struct ArrivalRequest {
  std::string words;         // see make_arrivals
  double rate = 1.0;         // requests per second, mean
  double rate_factor = 1.0;  // for rates that stand in the words
  Duration span{0};          // how long arrivals are wanted
  std::uint64_t most = 100;  // requests of a burst
  std::uint64_t seed = 1;
};

// poisson | even | gamma:BURSTINESS (below 1: burstier than Poisson) | onoff:OFF_RATE,ON_SECONDS,OFF_SECONDS (the rate
// is that of the times that are on) | ramp:TO_RATE (from the rate, over the span) | steps:RATE,RATE,... (equal parts of
// the span) | burst (`most` requests at once). Ascending instants; empty: no more. Errors: kInvalidArgument, field
// "arrivals".
Result<std::function<std::optional<Duration>()>> make_arrivals(const ArrivalRequest& request);

}  // namespace takt::load
