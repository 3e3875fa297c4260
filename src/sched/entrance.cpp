#include "sched/entrance.h"

#include <algorithm>
#include <bitset>
#include <limits>

#include "sched/admission.h"

namespace takt {

namespace {

// What holds up one class leaves others alone; the rest holds up the tier.
bool is_about_class(WaitReason reason) {
  return reason == WaitReason::kSeat || reason == WaitReason::kBlocks || reason == WaitReason::kTierCeiling;
}

}  // namespace

Entrance::Entrance(const SchedulerOptions& options, const CapacityView& view, const SequencePlaces& places,
                   const LengthForecast& lengths, const AdmissionTools& tools)
    : options_(options),
      view_(view),
      places_(places),
      tools_(tools),
      growth_(options, view, places, lengths),
      reasons_{TierReasons(places.memory), TierReasons(places.memory)} {
  const auto running = static_cast<std::uint32_t>(places_.running.size());
  seats_left_ = options_.max_sequences - std::min(options_.max_sequences, running);
  for (const ScheduledSequence& s : places_.running) ++running_[index_of(s.facts.tier)];
  most_running_.fill(std::numeric_limits<std::uint32_t>::max());
  for (const Tier tier : kTiers) of(tier).unstarted.resize(places_.of(tier).starting.lanes().size());
}

void Entrance::let_in(Tier tier, std::pmr::vector<Prompt>& prompts) {
  of(tier).resuming = let_in_resuming(tier, prompts);
  let_in_unstarted(tier, prompts);
}

// The reason why some member cannot enter; kNone when all that were looked at can.
WaitReason Entrance::let_in_resuming(Tier tier, std::pmr::vector<Prompt>& prompts) {
  std::uint32_t looked_at = 0;
  WaitReason first = WaitReason::kNone;
  WaitReason passed = WaitReason::kNone;       // of one that holds up nobody
  std::bitset<kMostClasses + 1> without_seat;  // lanes: who is behind in one finds none either, or the same ceiling
  for (const ScheduledSequence& s : places_.of(tier).resuming) {
    if (without_seat.test(s.lane)) continue;
    const WaitReason reason = obstacle(s, looked_at, prompts);
    note_kept_out(s, reason);
    if (reason == WaitReason::kSwappedOut || holds_up_nobody_) {  // the former has its place
      passed = reason;
      continue;
    }
    if (first == WaitReason::kNone) first = reason;
    if (reason == WaitReason::kTierCeiling) of(tier).close(s.lane, reason);
    if (reason == WaitReason::kSeat || reason == WaitReason::kTierCeiling) without_seat.set(s.lane);
    if (reason != WaitReason::kNone && !leaves_others_alone(reason)) break;
  }
  resuming_hold_up_ = first != WaitReason::kNone && first != WaitReason::kTierCeiling;
  return first == WaitReason::kNone ? passed : first;
}

void Entrance::let_in_unstarted(Tier tier, std::pmr::vector<Prompt>& prompts) {
  tools_.walk.start(places_.of(tier), options_.fair, options_.max_overtakes);
  for (std::size_t lane = 0; lane < of(tier).unstarted.size(); ++lane) {
    if (of(tier).unstarted[lane] != WaitReason::kNone) tools_.walk.close_lane(lane);
  }
  // Preempted work resumes before unstarted work, but for what is reserved for somebody.
  const WaitReason resuming = of(tier).resuming;
  std::uint32_t looked_at = 0;
  while (const ScheduledSequence* s = tools_.walk.next()) {
    const bool is_entitled = is_about_class(resuming) && tools_.book.is_entitled_to_seat(s->lane);
    const bool may_try = !resuming_hold_up_ || is_entitled || tools_.market.keeps_for(s->lane);
    const WaitReason reason = may_try ? obstacle(*s, looked_at, prompts) : resuming;
    note_kept_out(*s, reason);
    if (reason == WaitReason::kNone) {
      prompts.back().urgent = tools_.walk.is_urgent();
      tools_.walk.take();
      continue;
    }
    if (may_try && holds_up_nobody_) {
      of(tier).close(s->lane, reason);
      tools_.walk.pass();
      continue;
    }
    if (!leaves_others_alone(reason)) return close_all(tier, reason);
    of(tier).close(s->lane, reason);
    tools_.walk.close_lane(s->lane);
  }
}

// Whether those behind may try; what a preemption gave to a class is there although it closed the tier.
bool Entrance::leaves_others_alone(WaitReason reason) const {
  return is_about_class(reason) || (reason == WaitReason::kPreemption && tools_.market.keeps_any());
}

void Entrance::note_kept_out(const ScheduledSequence& s, WaitReason reason) {
  if (reason == WaitReason::kNone || reason == WaitReason::kSwappedOut || reason == WaitReason::kBreaker) return;
  const LimitBook& book = tools_.book;
  const bool by_own_ceiling = reason == WaitReason::kTierCeiling &&
                              (book.seat_is_above_ceiling(s.lane) ||
                               book.blocks_are_above_ceiling(s.lane, needs_of(s, options_, view_).blocks));
  if (!by_own_ceiling) of(s.facts.tier).kept_out.push_back(s.lane);
}

void Entrance::TierReasons::close(std::size_t lane, WaitReason reason) {
  if (lane < unstarted.size() && unstarted[lane] == WaitReason::kNone) unstarted[lane] = reason;
}

void Entrance::close_all(Tier tier, WaitReason reason) {
  for (std::size_t lane = 0; lane < of(tier).unstarted.size(); ++lane) of(tier).close(lane, reason);
}

// Lets the sequence in, or says what holds it up. `looked_at`: those of the queue whose blocks were looked at; what its
// class's ceiling holds up, or who finds no seat, is none of them and costs the other classes nothing.
WaitReason Entrance::obstacle(const ScheduledSequence& s, std::uint32_t& looked_at, std::pmr::vector<Prompt>& prompts) {
  const auto t = index_of(s.facts.tier);
  holds_up_nobody_ = false;
  if (first_in_line_ == nullptr) first_in_line_ = &s;
  // A preemption that was made for a waiting one keeps what it gave.
  if (tools_.market.closed_to(s.facts.tier) && !tools_.market.keeps_for(s.lane)) return WaitReason::kPreemption;
  if (running_[t] > 0 && running_[t] >= most_running_[t]) return WaitReason::kBreaker;
  if (!tools_.beat.leaves_time_for(s)) return WaitReason::kStepTime;
  Seat seat = Seat::kFree;
  if (const WaitReason reason = seat_obstacle(s, seat); reason != WaitReason::kNone) return reason;
  const AdmissionNeeds needs = needs_of(s, options_, view_);
  if (tools_.book.blocks_are_above_ceiling(s.lane, needs.blocks)) return WaitReason::kTierCeiling;
  if (looked_at == options_.lookahead) return short_of_blocks_ ? WaitReason::kBlocks : WaitReason::kStepTime;
  ++looked_at;
  if (const WaitReason reason = block_obstacle(s, needs, seat); reason != WaitReason::kNone) return reason;
  if (s.is_swapped()) {
    take_place(s, needs);
    tools_.swap.bring_back(s, needs.cover);
    waits_for_arena_ = true;
    return WaitReason::kSwappedOut;
  }
  admit(s, needs, prompts);
  return WaitReason::kNone;
}

// A free seat, or that of a lower tier's sequence: a realtime request never waits for batch work to end.
WaitReason Entrance::seat_obstacle(const ScheduledSequence& s, Seat& seat) const {
  const LimitBook& book = tools_.book;
  if (book.seat_is_above_ceiling(s.lane)) return WaitReason::kTierCeiling;
  if (seats_left_ > 0 && book.is_entitled_to_seat(s.lane)) return WaitReason::kNone;
  if (seats_left_ > book.seats_of_others(s.lane, s.facts.tier)) return WaitReason::kNone;
  if (options_.join != JoinRule::kWhenEmpty && tools_.market.may_take_seat(s)) {
    seat = Seat::kOfAnother;
    return WaitReason::kNone;
  }
  return seats_left_ > 0 ? WaitReason::kTierCeiling : WaitReason::kSeat;
}

// What waits for blocks holds back those behind it, of lower tiers too, or it would wait for ever. But for who could
// not enter if all of them stayed away.
WaitReason Entrance::wait_for_blocks(const ScheduledSequence& s, const AdmissionNeeds& needs) {
  holds_up_nobody_ = !fits_beside_reserves(s, needs);
  short_of_blocks_ = short_of_blocks_ || !holds_up_nobody_;
  return WaitReason::kBlocks;
}

// Whether it will find room when all have ended but those who use what is reserved for them.
bool Entrance::fits_beside_reserves(const ScheduledSequence& s, const AdmissionNeeds& needs) const {
  const GroupCounts others = tools_.book.reserves_in_use(s.lane, s.facts.tier);
  if (others.none()) return true;
  const GroupCounts watermark = watermark_blocks(view_.total, options_.watermark);
  return (view_.geometry.blocks_for(needs.cover) + watermark + others).within(view_.total);
}

// Blocks that must stay free when it enters: for the growth of those who run, and what is set aside for others.
GroupCounts Entrance::spare_beside(const ScheduledSequence& s, const AdmissionNeeds& needs, bool is_entitled) const {
  const GroupCounts growth = growth_.beside(s, needs.cover);
  if (is_entitled) return growth;
  const GroupCounts others = tools_.book.blocks_of_others(s.lane, s.facts.tier);
  // What has no room beside others' reserves at all borrows of those that nobody asks for: it would wait, and keep all
  // behind it waiting, until nothing else runs.
  const bool fits_beside = (view_.geometry.blocks_for(needs.cover) + others).within(view_.total);
  return growth + (fits_beside ? others : tools_.book.blocks_of_others(s.lane, s.facts.tier, true));
}

// Takes the blocks, and the seat where it is another's: nobody is put out of one in vain.
WaitReason Entrance::block_obstacle(const ScheduledSequence& s, const AdmissionNeeds& needs, Seat seat) {
  const LimitBook& book = tools_.book;
  const bool is_entitled = book.is_entitled_to_blocks(s.lane, s.facts.tier, needs.blocks);
  if (short_of_blocks_ && !is_entitled) return WaitReason::kBlocks;
  const bool are_kept = tools_.market.has_kept(s, needs.blocks);
  if (!are_kept && tools_.market.is_settled(s)) return wait_for_blocks(s, needs);
  const bool alone = places_.running.empty() && admitted_ == 0;
  const GroupCounts spare = alone || are_kept ? GroupCounts{} : spare_beside(s, needs, is_entitled);
  if (seat == Seat::kOfAnother) {
    if (!are_kept && !tools_.market.are_in_reach_with_seat(s, needs.blocks + spare)) return wait_for_blocks(s, needs);
    tools_.market.take_seat(s);
    ++seats_left_;
  }
  if (tools_.market.take_kept(s, needs.blocks)) return WaitReason::kNone;
  const bool has_blocks = tools_.market.take_for_waiting(s, needs.blocks, spare, alone);
  return has_blocks ? WaitReason::kNone : wait_for_blocks(s, needs);
}

void Entrance::admit(const ScheduledSequence& s, const AdmissionNeeds& needs, std::pmr::vector<Prompt>& prompts) {
  take_place(s, needs);
  prompts.push_back({&s, needs.first_position, needs.cover, true});
}

// Nobody who comes later in this plan has its seat and blocks.
void Entrance::take_place(const ScheduledSequence& s, const AdmissionNeeds& needs) {
  growth_.add(s, needs.cover);
  tools_.beat.add(s);
  tools_.market.pin(s);
  tools_.book.took_seat(s.lane, s.facts.tier, needs.blocks);
  --seats_left_;
  ++admitted_;
  ++running_[index_of(s.facts.tier)];
}

void Entrance::note_left_out(Tier tier) {
  close_all(tier, WaitReason::kStepTime);
  if (of(tier).resuming == WaitReason::kNone) of(tier).resuming = WaitReason::kStepTime;
}

}  // namespace takt
