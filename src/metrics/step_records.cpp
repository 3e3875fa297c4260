#include "metrics/step_records.h"

#include <algorithm>

namespace takt::metrics {

void TapeState::add(const SequenceAdded& added) {
  SequenceLives lives;
  lives.added = added;
  lives.known = added.facts.prompt_tokens;
  live[added.facts.id] = lives;
}

void TapeState::remove(SequenceId sequence) {
  live.erase(sequence);
  std::erase_if(entries, [&](const PlanEntry& entry) { return entry.sequence == sequence; });
}

void TapeState::plan(const CapacityView& view, const StepPlan& plan) {
  free = view.free;
  evictable = view.evictable;
  swap = view.swap;
  swap.arrivals.clear();
  step = plan.id;
  budget = plan.budget;
  waits = plan.waits;
  if (!plan.entries.empty()) entries = plan.entries;
  for (const PlanDrop& drop : plan.drops) {
    const auto found = live.find(drop.sequence);
    if (found == live.end()) continue;
    SequenceLives& lives = found->second;
    if (drop.keep_tokens < lives.computed)
      lives.swapped_until = drop.kind == PreemptionKind::kSwap ? std::max(lives.swapped_until, lives.computed) : 0;
    lives.cover = std::min(lives.cover, drop.keep_tokens);
    lives.computed = std::min(lives.computed, drop.keep_tokens);
    lives.running = false;
  }
  for (const PlanSwapIn& swap_in : plan.swap_ins) {
    const auto found = live.find(swap_in.sequence);
    if (found == live.end()) continue;
    SequenceLives& lives = found->second;
    lives.cover = std::max(lives.cover, swap_in.cover_tokens);
    lives.computed = std::max(lives.computed, swap_in.computed);
    if (lives.swapped_until <= lives.computed) lives.swapped_until = 0;
  }
}

void TapeState::lose(const SwappedLost& lost) {
  const auto found = live.find(lost.sequence);
  if (found == live.end()) return;
  found->second.computed = lost.computed;
  found->second.swapped_until = 0;
}

void TapeState::set_reserve(const ReserveSet& reserve) {
  const auto found = live.find(reserve.sequence);
  if (found != live.end()) found->second.added.facts.reserve_tokens = reserve.tokens;
}

void TapeState::commit(std::span<const SequenceProgress> progress) {
  auto entry = entries.begin();
  for (const SequenceProgress& stands : progress) {
    while (entry != entries.end() && entry->sequence != stands.sequence) ++entry;
    const auto found = live.find(stands.sequence);
    if (entry == entries.end() || found == live.end()) continue;
    SequenceLives& lives = found->second;
    lives.known = stands.known;
    lives.computed = stands.computed;
    lives.cover = std::max(lives.cover, entry->cover_tokens);
    lives.running = true;
  }
}

PlanEntry TapeState::next_row(SequenceId sequence) const {
  PlanEntry row;
  row.sequence = sequence;
  row.token_count = 1;
  row.samples = true;
  if (const auto found = live.find(sequence); found != live.end()) {
    row.first_position = found->second.computed;
    row.cover_tokens = std::max(found->second.cover, row.first_position + 1);
  }
  return row;
}

SequenceProgress TapeState::usual_progress(const PlanEntry& entry) const {
  const auto found = live.find(entry.sequence);
  const std::uint32_t known = found == live.end() ? 0 : found->second.known;
  return {entry.sequence, known + (entry.samples ? 1 : 0), entry.first_position + entry.token_count};
}

StepFeatures features_of(const std::vector<PlanEntry>& entries) {
  StepFeatures features;
  for (const PlanEntry& entry : entries) {
    features.tokens += entry.token_count;
    if (entry.token_count == 1 && !entry.admits) ++features.decode_rows;
    if (entry.samples) ++features.logits_rows;
    features.attended_positions += attended_by(entry.first_position, entry.token_count);
  }
  return features;
}

}  // namespace takt::metrics
