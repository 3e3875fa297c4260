// The load of a household over a day: voice, chats, a programmer's completions, an agent, sensors, and the night's
// summaries. Invented, with its numbers written down here: a shape to try settings on, no evidence about real homes.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/result.h"
#include "load/load_settings.h"

namespace takt::load {

struct HomeOptions {
  std::uint32_t people = 4;                   // 1 to 1000
  Duration length{std::chrono::minutes(10)};  // that the day is pressed into
  double length_factor = 1.0;                 // of prompts and answers, above 0
  std::uint64_t seed = 1;
};

// Errors: kInvalidArgument, field "people" or "duration".
Result<Load> make_home_load(const HomeOptions& options);
// The classes with what they do in a day, for the report.
std::vector<ClassSettings> describe_home_load(const HomeOptions& options);

}  // namespace takt::load
