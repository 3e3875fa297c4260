// Every field of what a scheduler is given, by name: one list for writing and reading. Adding a field to one of these
// types breaks the structured binding here, so that none is forgotten in the log.
#pragma once

#include "sched/tape.h"

namespace takt::metrics {

template <typename Facts, typename Visit>
void visit_facts(Facts& facts, Visit&& visit) {
  auto& [id, leader, tier, service_class, tenant, weight, deadline, window, itl_target, prompt_tokens, limit_tokens,
         siblings, scores_prompt, expires_at, reserve_tokens] = facts;
  visit("id", id);
  visit("leader", leader);
  visit("tier", tier);
  visit("class", service_class);
  visit("tenant", tenant);
  visit("weight", weight);
  visit("deadline", deadline);
  visit("window", window);
  visit("itl", itl_target);
  visit("prompt", prompt_tokens);
  visit("limit", limit_tokens);
  visit("siblings", siblings);
  visit("scores", scores_prompt);
  visit("expires", expires_at);
  visit("reserve", reserve_tokens);
}

template <typename Class, typename Visit>
void visit_class(Class& service_class, Visit&& visit) {
  auto& [limits, queue] = service_class;
  auto& [tier, weight, reserved, ceiling, min_share] = limits;
  auto& [reserved_seats, reserved_blocks, reserved_step_time] = reserved;
  auto& [most_seats, most_blocks, most_step_time] = ceiling;
  auto& [max_waiting, max_waiting_tokens] = queue;
  visit("tier", tier);
  visit("weight", weight);
  visit("reserved_seats", reserved_seats);
  visit("reserved_blocks", reserved_blocks);
  visit("reserved_step_time", reserved_step_time);
  visit("most_seats", most_seats);
  visit("most_blocks", most_blocks);
  visit("most_step_time", most_step_time);
  visit("min_share", min_share);
  visit("max_waiting", max_waiting);
  visit("max_waiting_tokens", max_waiting_tokens);
}

template <typename Options, typename Visit>
void visit_options(Options& options, Visit&& visit) {
  auto& [classes, join, window, prefill, padding, leave, admission, reserve, preemption, order, fair, max_overtakes,
         max_sequences, max_step_tokens, step_target, max_step, step_overhead, decode_share, planning_margin,
         newcomer_share, max_decode_only_steps, batch_min_share, breaker, watermark, protect_after, lookahead] =
      options;
  auto& [min_batch, served_ratio, max_wait, adaptive] = window;
  auto& [prompt_weight, cached_weight, output_weight] = fair;
  auto& [preemptions_per_minute, recovery] = breaker;
  visit("classes", classes);
  visit("join", join);
  visit("window_min_batch", min_batch);
  visit("window_served_ratio", served_ratio);
  visit("window_max_wait", max_wait);
  visit("window_adaptive", adaptive);
  visit("prefill", prefill);
  visit("padding", padding);
  visit("leave", leave);
  visit("admission", admission);
  visit("reserve", reserve);
  visit("preemption", preemption);
  visit("order", order);
  visit("fair_prompt_weight", prompt_weight);
  visit("fair_cached_weight", cached_weight);
  visit("fair_output_weight", output_weight);
  visit("max_overtakes", max_overtakes);
  visit("max_sequences", max_sequences);
  visit("max_step_tokens", max_step_tokens);
  visit("step_target", step_target);
  visit("max_step", max_step);
  visit("step_overhead", step_overhead);
  visit("decode_share", decode_share);
  visit("planning_margin", planning_margin);
  visit("newcomer_share", newcomer_share);
  visit("max_decode_only_steps", max_decode_only_steps);
  visit("batch_min_share", batch_min_share);
  visit("breaker_preemptions_per_minute", preemptions_per_minute);
  visit("breaker_recovery", recovery);
  visit("watermark", watermark);
  visit("protect_after", protect_after);
  visit("lookahead", lookahead);
}

}  // namespace takt::metrics
