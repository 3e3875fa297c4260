// Settings of the scheduler.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace takt {

struct SchedulerOptions {
  // Seats: sequences that run at once. A cap only; memory and step time decide. Also capped by the executor.
  std::uint32_t max_sequences = 64;
  // Rows of one step. A cap only; the step budget is time. Also capped by the executor. At least max_sequences.
  std::uint32_t max_step_tokens = 2048;

  // Longest step while a realtime sequence is decoding; a tighter inter-token target among them counts instead. Smaller: smoother
  // streams, slower prompts.
  Duration step_target = std::chrono::milliseconds(50);
  // Longest step otherwise: a realtime request may arrive at any moment and then waits for its end.
  Duration max_step = std::chrono::milliseconds(200);
  // Part of the step budget that prefill leaves unplanned, against errors of the step-time model. 0 to 0.5.
  double planning_margin = 0.1;

  // Share of the prefill time of a step that is not the oldest prompt's: new and short prompts start at once on it. 0.1 to 0.9. Larger:
  // short prompts answer sooner behind a long one, the long one takes longer.
  double newcomer_share = 0.75;
  // Steps of decode rows alone in a row while prefill waits, before prefill gets one block of tokens although there is no time left. At least 1.
  std::uint32_t max_decode_only_steps = 1;

  // Part of the KV blocks that admission leaves free for the growth of running sequences. 0 to 0.5.
  double watermark = 0.01;
  // A sequence preempted so often by its own tier resumes only with its whole remaining need reserved, and is then not preempted by that tier.
  std::uint32_t protect_after = 3;
  // Queue heads looked at per step and tier. At least 1.
  std::uint32_t lookahead = 32;
};

}  // namespace takt
