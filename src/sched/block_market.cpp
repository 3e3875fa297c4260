#include "sched/block_market.h"

#include <algorithm>

namespace takt {

namespace {

// Victims: lowest tier first, then newest.
bool ranks_below(const ScheduledSequence& a, const ScheduledSequence& b) {
  if (a.facts.tier != b.facts.tier) return a.facts.tier > b.facts.tier;
  return a.order > b.order;
}

}  // namespace

BlockMarket::BlockMarket(const CapacityView& view, const SequencePlaces& places, PreemptionRule rule, LimitBook& book)
    : view_(view),
      available_(view.free + view.evictable),
      holders_(places.memory),
      kept_(places.memory),
      may_preempt_(rule != PreemptionRule::kNone),
      book_(book) {
  const auto add = [&](const SequenceList& list) {
    for (const ScheduledSequence& s : list) {
      if (s.cover > 0) holders_.push_back({&s, s.cover, s.cover});
    }
  };
  add(places.running);
  for (const TierQueues& tier : places.tiers) add(tier.resuming);
  for (const HeldTail& tail : view.tails) {
    const std::size_t place = place_of(tail.sequence);
    if (place < holders_.size()) holders_[place].exclusive_from = tail.exclusive_from;
  }
}

// Of the holder for whom `is` is true, else the end. Looks from the last one on.
template <typename Is>
std::size_t BlockMarket::place_where(Is is) const {
  const std::size_t count = holders_.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = last_place_ + i < count ? last_place_ + i : last_place_ + i - count;
    if (!is(holders_[place].sequence)) continue;
    last_place_ = place;
    return place;
  }
  return count;
}

std::size_t BlockMarket::place_of(const ScheduledSequence& sequence) const {
  return place_where([&](const ScheduledSequence* s) { return s == &sequence; });
}

std::size_t BlockMarket::place_of(SequenceId sequence) const {
  return place_where([&](const ScheduledSequence* s) { return s->facts.id == sequence; });
}

bool BlockMarket::may_take(const ScheduledSequence& taker, const Holder& holder, bool from_running) const {
  const ScheduledSequence& s = *holder.sequence;
  if (holder.pinned || &s == &taker || holder.keep == 0 || !ranks_below(s, taker)) return false;
  if (s.state != SequenceState::kRunning && keeps_for(s.lane)) return false;  // it enters with this step
  if (s.state != SequenceState::kRunning || holder.dropped) return true;
  // A protected sequence has all that it will ever need, so it ends by itself: its own tier waits for that.
  if (s.facts.tier == taker.facts.tier) return from_running && !s.reserved_to_the_end;
  return may_preempt_ && book_.may_lose_blocks(s.lane, s.facts.tier);
}

BlockMarket::Holder* BlockMarket::lowest_holder(const ScheduledSequence& taker, bool from_running, bool with_shared) {
  Holder* lowest = nullptr;
  for (Holder& holder : holders_) {
    if (!may_take(taker, holder, from_running)) continue;
    if (!with_shared && holder.keep <= holder.exclusive_from) continue;
    if (lowest == nullptr || ranks_below(*holder.sequence, *lowest->sequence)) lowest = &holder;
  }
  return lowest;
}

// Of its computed tokens that it would still give up with `keep`.
std::uint32_t BlockMarket::computed_pages(const Holder& holder, std::uint32_t keep) const {
  const std::uint32_t computed = holder.sequence->computed;
  return view_.geometry.pages_for(std::min(holder.keep, computed) - std::min(keep, computed));
}

void BlockMarket::drop_tail(Holder& holder, const ScheduledSequence& taker, const GroupCounts& wanted,
                            std::uint32_t most_pages) {
  const BlockGeometry& geometry = view_.geometry;
  const GroupCounts held = geometry.blocks_for(holder.keep);
  std::uint32_t keep = holder.keep;
  while (keep > holder.exclusive_from && !wanted.within(available_ + (held - geometry.blocks_for(keep)))) {
    const std::uint32_t less = std::max(holder.exclusive_from, geometry.align_down(keep - 1));
    if (computed_pages(holder, less) > most_pages) break;
    keep = less;
  }
  if (copies_left_ != kAnyNumber) copies_left_ -= std::min(copies_left_, computed_pages(holder, keep));
  const ScheduledSequence& s = *holder.sequence;
  book_.lost_blocks(s.lane, s.facts.tier, held - geometry.blocks_for(keep));
  if (s.state == SequenceState::kRunning && !holder.dropped) book_.lost_seat(s.lane, s.facts.tier);
  available_ += held - geometry.blocks_for(keep);
  holder.keep = keep;
  holder.in_favour_of = taker.facts.tier;
  // What a higher tier took is not given to somebody new of the lower one.
  if (holder.sequence->facts.tier > taker.facts.tier) close_from(holder.sequence->facts.tier);
  holder.dropped = true;
}

void BlockMarket::close_from(Tier tier) {
  closed_from_ = closed_from_ ? std::min(*closed_from_, tier) : tier;
}

// No stream stands still for what a lower tier is owed: before one loses its place, that gives.
BlockMarket::Holder* BlockMarket::victim_of_running(const ScheduledSequence& taker) {
  Holder* lowest = lowest_holder(taker, true, false);
  const auto is_stream = [&](const Holder& holder) {
    const ScheduledSequence& s = *holder.sequence;
    return s.facts.tier == taker.facts.tier && s.state == SequenceState::kRunning && !holder.dropped;
  };
  if (!may_preempt_ || (lowest != nullptr && !is_stream(*lowest))) return lowest;
  Holder* owed = nullptr;
  for (Holder& holder : holders_) {
    const ScheduledSequence& s = *holder.sequence;
    const bool runs = s.state == SequenceState::kRunning && !holder.dropped && !holder.pinned;
    if (!runs || s.facts.tier <= taker.facts.tier || holder.keep <= holder.exclusive_from) continue;
    if (book_.blocks_are_reserved(s.lane)) continue;
    if (owed == nullptr || ranks_below(s, *owed->sequence)) owed = &holder;
  }
  return owed != nullptr ? owed : lowest;
}

bool BlockMarket::take_for_running(const ScheduledSequence& taker, const GroupCounts& need) {
  while (!need.within(available_)) {
    close_from(taker.facts.tier);
    Holder* victim = victim_of_running(taker);
    if (victim == nullptr) return false;
    drop_tail(*victim, taker, need);
  }
  available_ -= need;
  return true;
}

bool BlockMarket::take_free(const GroupCounts& need) {
  if (!need.within(available_)) return false;
  available_ -= need;
  return true;
}

GroupCounts BlockMarket::tail_of(const Holder& holder) const {
  return view_.geometry.blocks_for(holder.keep) - view_.geometry.blocks_for(holder.exclusive_from);
}

bool BlockMarket::are_in_reach(const ScheduledSequence& taker, const GroupCounts& wanted, const Holder* victim) const {
  if (wanted.within(available_)) return true;
  GroupCounts in_reach = available_;
  for (const Holder& holder : holders_) {
    if (&holder == victim || may_take(taker, holder, false)) in_reach += tail_of(holder);
  }
  return wanted.within(in_reach);
}

bool BlockMarket::take_for_waiting(const ScheduledSequence& taker, const GroupCounts& need, const GroupCounts& spare,
                                   bool last_resort) {
  const GroupCounts wanted = need + spare;
  if (!last_resort && !are_in_reach(taker, wanted, nullptr)) return false;
  while (!wanted.within(available_)) {
    Holder* victim = lowest_holder(taker, false, false);
    if (victim == nullptr) {
      if (!last_resort) return false;
      victim = lowest_holder(taker, false, true);
      if (victim == nullptr) return false;
      // Whether its shared blocks come free shows in the next view; count on nothing.
      victim->keep = 0;
      victim->dropped = true;
      victim->in_favour_of = taker.facts.tier;
      continue;
    }
    if (copies_left_ == 0 && computed_pages(*victim, victim->exclusive_from) > 0) return false;
    drop_tail(*victim, taker, wanted, copies_left_);
  }
  available_ -= need;
  return true;
}

bool BlockMarket::has_borrowed_from(const ScheduledSequence& claimant, const Holder& holder) const {
  const ScheduledSequence& s = *holder.sequence;
  if (holder.pinned || holder.keep <= holder.exclusive_from || s.lane == claimant.lane) return false;
  if (s.facts.tier < claimant.facts.tier || !book_.may_lose_blocks(s.lane, s.facts.tier)) return false;
  const bool runs = s.state == SequenceState::kRunning && !holder.dropped;
  if (s.state != SequenceState::kRunning && keeps_for(s.lane)) return false;
  return s.facts.tier > claimant.facts.tier || !runs || !s.reserved_to_the_end;
}

BlockMarket::Holder* BlockMarket::newest_borrower(const ScheduledSequence& claimant) {
  Holder* newest = nullptr;
  for (Holder& holder : holders_) {
    if (!has_borrowed_from(claimant, holder)) continue;
    if (newest == nullptr || ranks_below(*holder.sequence, *newest->sequence)) newest = &holder;
  }
  return newest;
}

void BlockMarket::keep_for(const ScheduledSequence& claimant, const GroupCounts& need) {
  GroupCounts in_reach = available_;
  for (const Holder& holder : holders_) {
    if (has_borrowed_from(claimant, holder)) in_reach += tail_of(holder);
  }
  if (!need.within(in_reach)) return;  // nobody gives anything up in vain
  while (!need.within(available_)) {
    Holder* borrower = newest_borrower(claimant);
    if (borrower == nullptr) return;
    drop_tail(*borrower, claimant, need);
  }
  available_ -= need;
  kept_.push_back({claimant.lane, need});
}

bool BlockMarket::keeps_for(std::size_t lane) const {
  return std::any_of(kept_.begin(), kept_.end(), [&](const Kept& kept) { return kept.lane == lane; });
}

bool BlockMarket::has_kept(const ScheduledSequence& taker, const GroupCounts& need) const {
  const auto kept = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& k) { return k.lane == taker.lane; });
  return kept != kept_.end() && need.within(kept->blocks) && !is_settled(taker);
}

bool BlockMarket::take_kept(const ScheduledSequence& taker, const GroupCounts& need) {
  if (!has_kept(taker, need)) return false;
  std::find_if(kept_.begin(), kept_.end(), [&](const Kept& k) { return k.lane == taker.lane; })->blocks -= need;
  return true;
}

bool BlockMarket::take_seat(const ScheduledSequence& taker) {
  return put_out(taker, false);
}

bool BlockMarket::take_back_seat(const ScheduledSequence& taker) {
  return put_out(taker, true);
}

const BlockMarket::Holder* BlockMarket::seat_victim(const ScheduledSequence& taker, bool own_tier) const {
  if (!may_preempt_) return nullptr;
  const Holder* lowest = nullptr;
  for (const Holder& holder : holders_) {
    const ScheduledSequence& s = *holder.sequence;
    const bool runs = s.state == SequenceState::kRunning && !holder.dropped && !holder.pinned;
    const bool is_below = s.facts.tier > taker.facts.tier || (own_tier && s.facts.tier == taker.facts.tier);
    if (!runs || !is_below || !book_.may_lose_seat(s.lane, s.facts.tier)) continue;
    if (own_tier && (s.lane == taker.lane || s.reserved_to_the_end)) continue;
    if (lowest == nullptr || ranks_below(s, *lowest->sequence)) lowest = &holder;
  }
  return lowest;
}

bool BlockMarket::put_out(const ScheduledSequence& taker, bool own_tier) {
  const Holder* victim = seat_victim(taker, own_tier);
  if (victim == nullptr) return false;
  const ScheduledSequence& s = *victim->sequence;
  Holder& lowest = holders_[place_of(s)];
  lowest.dropped = true;
  lowest.in_favour_of = taker.facts.tier;
  book_.lost_seat(s.lane, s.facts.tier);
  if (s.facts.tier > taker.facts.tier) close_from(s.facts.tier);
  return true;
}

void BlockMarket::stand_back(const ScheduledSequence& sequence) {
  close_from(sequence.facts.tier);
  const std::size_t place = place_of(sequence);
  if (place == holders_.size()) return;
  Holder& holder = holders_[place];
  if (!holder.dropped) book_.lost_seat(sequence.lane, sequence.facts.tier);
  holder.keep = std::min(holder.keep, sequence.computed);
  holder.in_favour_of = sequence.facts.tier;
  holder.dropped = true;
}

void BlockMarket::pin(const ScheduledSequence& sequence) {
  const std::size_t place = place_of(sequence);
  if (place < holders_.size()) holders_[place].pinned = true;
}

bool BlockMarket::is_settled(const ScheduledSequence& sequence) const {
  const std::size_t place = place_of(sequence);
  return place < holders_.size() && (holders_[place].dropped || holders_[place].pinned);
}

const ScheduledSequence* BlockMarket::holder(SequenceId sequence) const {
  const std::size_t place = place_of(sequence);
  return place < holders_.size() ? holders_[place].sequence : nullptr;
}

void BlockMarket::add_drops(std::vector<PlanDrop>& drops) const {
  for (const Holder& holder : holders_) {
    if (holder.dropped) drops.push_back({holder.sequence->facts.id, holder.keep, holder.in_favour_of});
  }
}

}  // namespace takt
