// Numbers and instants as trace files write them, exactly: no detour over floating point.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace takt::trace {

// Whole decimal numbers. Empty: anything else, or too large.
std::optional<std::uint32_t> parse_count(std::string_view text);
std::optional<std::uint64_t> parse_id(std::string_view text);

// A decimal number of units of `unit` ("12", "0.0125", "-3.5"); digits below a nanosecond are cut. Empty: anything
// else (an exponent too), or beyond 200 years.
std::optional<Duration> parse_decimal(std::string_view text, Duration unit);
// Seconds with as many decimals as are needed, at least `decimals`.
std::string decimal_seconds(Duration time, int decimals);

// "2023-11-16 18:17:03.9799600", with up to nine decimals, 'T' or a space, and nothing (UTC), 'Z' or +HH:MM behind.
// Nanoseconds since 1970. Empty: anything else, or a year outside of 1970 to 2261.
std::optional<std::int64_t> parse_wall(std::string_view text);
// The same with seven decimals, as Azure's traces of 2023 have them.
std::string wall_text(std::int64_t nanoseconds);

}  // namespace takt::trace
