#include "sched/entrance.h"

#include <algorithm>

namespace takt {

Entrance::Entrance(const SchedulerOptions& options, const CapacityView& view, const SequencePlaces& places,
                   const LengthForecast& lengths, BlockMarket& market, ServiceWalk& walk)
    : options_(options),
      view_(view),
      places_(places),
      market_(market),
      walk_(walk),
      growth_(options, view, places, lengths) {
  const auto running = static_cast<std::uint32_t>(places_.running.size());
  seats_left_ = options_.max_sequences - std::min(options_.max_sequences, running);
  for (const Tier tier : kTiers) of(tier).unstarted.resize(places_.of(tier).starting.lanes().size());
}

void Entrance::let_in(Tier tier, std::vector<Prompt>& prompts) {
  of(tier).resuming = let_in_resuming(tier, prompts);
  if (of(tier).resuming != WaitReason::kNone) return close_all(tier, of(tier).resuming);
  let_in_unstarted(tier, prompts);
}

// The reason why the queue, from some member on, cannot enter; kNone when all members that were looked at can.
WaitReason Entrance::let_in_resuming(Tier tier, std::vector<Prompt>& prompts) {
  std::uint32_t looked_at = 0;
  for (const ScheduledSequence& s : places_.of(tier).resuming) {
    const WaitReason reason = obstacle(s, looked_at++, prompts);
    if (reason != WaitReason::kNone) return reason;
  }
  return WaitReason::kNone;
}

void Entrance::let_in_unstarted(Tier tier, std::vector<Prompt>& prompts) {
  walk_.start(places_.of(tier), options_.fair, options_.max_overtakes);
  std::uint32_t looked_at = 0;
  while (const ScheduledSequence* s = walk_.next()) {
    const WaitReason reason = obstacle(*s, looked_at++, prompts);
    if (reason != WaitReason::kNone) return close_all(tier, reason);
    prompts.back().urgent = walk_.is_urgent();
    walk_.take();
  }
}

void Entrance::close_all(Tier tier, WaitReason reason) {
  for (WaitReason& lane : of(tier).unstarted) {
    if (lane == WaitReason::kNone) lane = reason;
  }
}

// Lets the sequence in, or says what holds it up.
WaitReason Entrance::obstacle(const ScheduledSequence& s, std::uint32_t looked_at, std::vector<Prompt>& prompts) {
  if (first_in_line_ == nullptr) first_in_line_ = &s;
  if (market_.closed_to(s.facts.tier)) return WaitReason::kPreemption;
  if (!find_seat(s)) return WaitReason::kSeat;
  if (short_of_blocks_) return WaitReason::kBlocks;
  if (looked_at == options_.lookahead) return WaitReason::kStepTime;
  // What waits for blocks holds back those behind it, of lower tiers too, or it would wait for ever.
  short_of_blocks_ = !admit(s, prompts);
  return short_of_blocks_ ? WaitReason::kBlocks : WaitReason::kNone;
}

// A seat for `s`: a free one, or that of a lower tier's sequence. A realtime request never waits for batch work to end.
bool Entrance::find_seat(const ScheduledSequence& s) {
  if (seats_left_ > 0) return true;
  if (options_.join == JoinRule::kWhenEmpty || !market_.take_seat(s)) return false;
  ++seats_left_;
  return true;
}

const CachedPrefix* Entrance::cached_prefix(SequenceId sequence) const {
  const auto it = std::find_if(view_.prefixes.begin(), view_.prefixes.end(),
                               [&](const CachedPrefix& p) { return p.sequence == sequence; });
  return it == view_.prefixes.end() ? nullptr : &*it;
}

bool Entrance::admit(const ScheduledSequence& s, std::vector<Prompt>& prompts) {
  if (market_.is_settled(s.facts.id)) return false;
  std::uint32_t first = s.computed;
  GroupCounts held = view_.geometry.blocks_for(s.cover);
  GroupCounts need;
  if (s.cover == 0) {
    const CachedPrefix* prefix = cached_prefix(s.facts.id);
    first = prefix == nullptr ? 0 : prefix->tokens;
    held = view_.geometry.blocks_for(first);
    if (prefix != nullptr) need = prefix->evictable;
  }
  // The whole prompt, and for a protected sequence all that it may ever need.
  const bool is_protected = s.preemptions_by_own_tier >= options_.protect_after;
  const std::uint32_t cover =
      std::max({is_protected ? s.facts.limit_tokens : s.known, s.facts.reserve_tokens, s.cover});
  need += view_.geometry.blocks_for(cover) - held;
  const bool alone = places_.running.empty() && admitted_ == 0;
  const GroupCounts spare = alone ? GroupCounts{} : growth_.beside(s, cover);
  if (!market_.take_for_waiting(s, need, spare, alone)) return false;
  growth_.add(s, cover);
  market_.pin(s.facts.id);
  --seats_left_;
  ++admitted_;
  prompts.push_back({&s, first, cover, true});
  return true;
}

void Entrance::note_left_out(Tier tier) {
  close_all(tier, WaitReason::kStepTime);
  if (of(tier).resuming == WaitReason::kNone) of(tier).resuming = WaitReason::kStepTime;
}

}  // namespace takt
