#include "engine/block_moves.h"

#include <algorithm>

#include "base/log.h"

namespace takt {

void BlockMoves::follow(TimePoint now) {
  for (const SequenceId id : parts_.swap.follow(now)) lose_swapped(id, parts_.scheduler.computed(id), now);
}

void BlockMoves::apply(StepPlan& plan, TimePoint now) {
  apply_drops(plan, now);
  apply_swap_ins(plan, now);
}

void BlockMoves::apply_drops(const StepPlan& plan, TimePoint now) {
  if (plan.drops.empty()) return;
  lost_.clear();
  for (const PlanDrop& drop : plan.drops) {
    SequenceRecord* s = parts_.lifecycle.store().find(drop.sequence);
    if (s == nullptr) continue;
    const bool was_running = s->open_in_executor;
    parts_.lifecycle.close_in_executor(*s);
    const std::uint32_t before = parts_.scheduler.computed(drop.sequence);
    const std::uint32_t given_up = before - std::min(before, drop.keep_tokens);
    const bool is_kept = give_up_tail(drop, before);
    if (!is_kept && drop.kind == PreemptionKind::kSwap) lost_.emplace_back(drop.sequence, before - given_up);
    const RequestId request = s->request->request.id;
    const std::uint32_t dropped = is_kept ? 0 : given_up;
    const std::uint32_t swapped = is_kept ? given_up : 0;
    if (was_running) {
      parts_.events.add(now, Preempted{request, s->choice, dropped, drop.in_favour_of,
                                       parts_.scheduler.waited(drop.sequence, now), swapped});
    } else if (given_up > 0) {
      parts_.events.add(now, TailTaken{request, s->choice, dropped, swapped, drop.in_favour_of});
    }
    parts_.kv.truncate(drop.sequence, drop.keep_tokens);
  }
  parts_.scheduler.apply_drops(plan, now);
  for (const auto& [id, computed] : lost_) lose_swapped(id, computed, now);
}

// Copies the tail to the arena where the plan says so. True when it is there.
bool BlockMoves::give_up_tail(const PlanDrop& drop, std::uint32_t computed) {
  if (drop.keep_tokens >= computed) return false;
  if (drop.kind == PreemptionKind::kSwap) return parts_.swap.copy_out(drop.sequence, drop.keep_tokens, computed);
  parts_.swap.release(drop.sequence);
  return false;
}

// Until it is given back, what the plan's newcomers find in the prefix cache is not evicted.
Result<Reservation> BlockMoves::hold_prefixes(const StepPlan& plan) {
  prefixes_.clear();
  for (const PlanEntry& entry : plan.entries) {
    if (!entry.admits || entry.first_position == 0) continue;
    const SequenceRecord& s = *parts_.lifecycle.store().find(entry.sequence);
    prefixes_.push_back({s.id, s.known, entry.first_position, entry.first_position});
  }
  return parts_.kv.reserve(prefixes_);
}

void BlockMoves::apply_swap_ins(StepPlan& plan, TimePoint now) {
  if (plan.swap_ins.empty()) return;
  const Result<Reservation> held = hold_prefixes(plan);
  lost_.clear();
  for (auto swap_in = plan.swap_ins.begin(); swap_in != plan.swap_ins.end();) {
    const SequenceRecord& s = *parts_.lifecycle.store().find(swap_in->sequence);
    const std::uint32_t before = parts_.scheduler.computed(s.id);
    const ReserveRequest request{s.id, s.known, before, swap_in->cover_tokens};
    Result<Reservation> reservation = parts_.kv.reserve({&request, 1});
    if (!reservation.ok()) {
      spdlog::error("a swapped sequence cannot come back: {}", reservation.error().message);
      parts_.swap.release(s.id);
      lost_.emplace_back(s.id, before);
      swap_in = plan.swap_ins.erase(swap_in);
      continue;
    }
    const std::uint32_t reached = parts_.swap.copy_back(s.id, before, swap_in->computed);
    const CommittedTokens tokens{s.id, s.known, reached};
    reservation.value().commit({&tokens, 1});
    if (reached < swap_in->computed) lost_.emplace_back(s.id, reached);
    ++swap_in;
  }
  parts_.scheduler.apply_swap_ins(plan);
  for (const auto& [id, computed] : lost_) lose_swapped(id, computed, now);
}

// The arena has nothing of the sequence any more: it is computed again from there.
void BlockMoves::lose_swapped(SequenceId sequence, std::uint32_t computed, TimePoint now) {
  const std::uint32_t tokens = parts_.scheduler.lose_swapped(sequence, computed);
  if (parts_.tape != nullptr) parts_.tape->swap_lost(sequence, computed, now);
  if (const SequenceRecord* s = parts_.lifecycle.store().find(sequence))
    parts_.events.add(now, SwapLost{s->request->request.id, s->choice, tokens});
}

}  // namespace takt
