// What this machine can do with a model when nobody else asks, and which promises it breaks even then.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "core/request.h"
#include "costmodel/fit.h"

namespace takt::app {

struct IdleSpeed {
  Duration decode_step{0};  // one stream, at a conversation of kTypicalTokens
  Duration prompt{0};       // from arrival to first token for a prompt of kTypicalTokens
};
inline constexpr std::uint32_t kTypicalTokens = 1000;

// `max_step`: longest step without streams, which cuts the prompt.
IdleSpeed idle_speed(const StepTimeTerms& terms, Duration max_step);

// A sentence per target that cannot be met.
std::vector<std::string> missed_when_idle(const IdleSpeed& speed, const ServiceTargets& targets, Duration step_target);

}  // namespace takt::app
