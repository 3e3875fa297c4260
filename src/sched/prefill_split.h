// Splits what a step has left for prefill between prompts. Pure.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "base/clock.h"
#include "core/step.h"
#include "core/step_time_model.h"

namespace takt {

struct PromptCandidate {
  std::uint64_t order = 0;  // arrival; smaller is older
  std::uint32_t first_position = 0;
  std::uint32_t remaining = 0;  // tokens to compute, at least 1
  double turn = 0.0;            // those with a lower one are served first, whatever they need
};

struct PrefillRoom {
  Duration limit{0};             // predicted time that the whole step may take
  std::uint32_t tokens = 0;      // rows that prefill may have
  double newcomer_share = 0.75;  // part that is not the oldest prompt's, while others want it
};

// Tokens per candidate, in the candidates' order; adds the rows to `features`. Those whose turn it is go first, then
// those with the least to compute (shortest remaining processing time first, which makes the mean wait least: Schrage,
// A Proof of the Optimality of the Shortest Remaining Processing Time Discipline, 1968), so a short prompt starts at
// once behind any number of long ones. Where the oldest prompt is not the first of them, it keeps its share whatever
// else comes: every prompt is the oldest one at some time, so none starves. The others share the rest; where they need
// less than that, the step becomes shorter, so that a long prompt beside them does not delay their first token.
std::pmr::vector<std::uint32_t> split_prefill(std::span<const PromptCandidate> candidates, const PrefillRoom& room,
                                              const StepTimeModel& model, StepFeatures& features,
                                              std::pmr::memory_resource* memory = std::pmr::get_default_resource());

}  // namespace takt
