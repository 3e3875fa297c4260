// The numbers of the scheduler's options and the ranges that they may have: what an option table offers, and what an
// engine holds to whoever configured it.
#pragma once

#include <cstdint>

#include "sched/options.h"

namespace takt {

// Calls visit(key, field, least, most) for each one, and visit(key, field, unit, least, most) for a duration, whose
// bounds are in that unit. `Options` is SchedulerOptions, const or not.
template <typename Options, typename Visit>
void visit_numbers(Options& options, Visit&& visit) {
  constexpr Duration kMillisecond = std::chrono::milliseconds(1);
  constexpr Duration kSecond = std::chrono::seconds(1);
  visit("scheduler.window_min_batch", options.window.min_batch, 1, 65536);
  visit("scheduler.window_served_ratio", options.window.served_ratio, 0.0, 10.0);
  visit("scheduler.window_max_wait_ms", options.window.max_wait, kMillisecond, 0, 600'000);
  visit("scheduler.max_overtakes", options.max_overtakes, 1, 1'000'000);
  visit("scheduler.fair_prompt_weight", options.fair.prompt, 0.0, 1000.0);
  visit("scheduler.fair_cached_weight", options.fair.cached, 0.0, 1000.0);
  visit("scheduler.fair_output_weight", options.fair.output, 0.0, 1000.0);
  visit("scheduler.max_sequences", options.max_sequences, 1, kMostSeats);
  visit("scheduler.max_step_tokens", options.max_step_tokens, 1, 65536);
  visit("scheduler.step_target_ms", options.step_target, kMillisecond, 1, 60'000);
  visit("scheduler.max_step_ms", options.max_step, kMillisecond, 1, 60'000);
  visit("scheduler.step_overhead", options.step_overhead, 0.0, 0.5);
  visit("scheduler.decode_share", options.decode_share, 0.0, 1.0);
  visit("scheduler.planning_margin", options.planning_margin, 0.0, 0.5);
  visit("scheduler.newcomer_share", options.newcomer_share, 0.1, 0.9);
  visit("scheduler.max_decode_only_steps", options.max_decode_only_steps, 1, 1000);
  visit("scheduler.batch_min_share", options.batch_min_share, 0.0, 0.5);
  visit("scheduler.breaker_preemptions_per_minute", options.breaker.preemptions_per_minute, 0, 100'000);
  visit("scheduler.breaker_recovery_seconds", options.breaker.recovery, kSecond, 1, 3600);
  visit("scheduler.watermark", options.watermark, 0.0, 0.5);
  visit("scheduler.protect_after", options.protect_after, 1, 1000);
  visit("scheduler.lookahead", options.lookahead, 1, 65536);
}

}  // namespace takt
