#include "idle_speed.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace takt::app {
namespace {

std::string idle_milliseconds(Duration time) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.0f ms", to_seconds(time) * 1e3);
  return text;
}

}  // namespace

IdleSpeed idle_speed(const StepTimeTerms& terms, Duration max_step) {
  StepFeatures decode;
  decode.tokens = decode.decode_rows = decode.logits_rows = 1;
  decode.attended_positions = attended_by(kTypicalTokens, 1);
  StepFeatures prompt;
  prompt.tokens = kTypicalTokens;
  prompt.logits_rows = 1;
  prompt.attended_positions = attended_by(0, kTypicalTokens);
  const double in_one_step = terms.seconds(prompt);
  const double steps = std::ceil(in_one_step / to_seconds(max_step));
  return {from_seconds(terms.seconds(decode)),
          from_seconds(in_one_step + (std::max(1.0, steps) - 1.0) * terms.per_step)};
}

std::vector<std::string> missed_when_idle(const IdleSpeed& speed, const ServiceTargets& targets, Duration step_target) {
  std::vector<std::string> missed;
  std::string token_targets;
  if (speed.decode_step > targets.itl) token_targets = "its target between tokens is " + idle_milliseconds(targets.itl);
  if (speed.decode_step > step_target) {
    token_targets += token_targets.empty() ? "" : " and ";
    token_targets += "the step target is " + idle_milliseconds(step_target);
  }
  if (!token_targets.empty())
    missed.push_back("a token of a single stream takes " + idle_milliseconds(speed.decode_step) + ", " + token_targets);
  if (speed.prompt > targets.ttft) {
    missed.push_back("a prompt of " + std::to_string(kTypicalTokens) + " tokens takes " +
                     idle_milliseconds(speed.prompt) + " to its first token, the target is " +
                     idle_milliseconds(targets.ttft));
  }
  return missed;
}

}  // namespace takt::app
