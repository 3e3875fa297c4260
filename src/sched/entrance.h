// Admission inside one plan: who of a tier enters, with which seat and blocks, and why the next one does not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "core/capacity_view.h"
#include "core/wait_reason.h"
#include "sched/admission_needs.h"
#include "sched/beat_guard.h"
#include "sched/block_market.h"
#include "sched/growth_reserve.h"
#include "sched/limit_book.h"
#include "sched/options.h"
#include "sched/places.h"
#include "sched/service_walk.h"
#include "sched/swap_planner.h"

namespace takt {

// A prompt to compute in this step.
struct Prompt {
  const ScheduledSequence* sequence;
  std::uint32_t first_position;
  std::uint32_t cover_tokens;
  bool admits;
  bool urgent = false;        // it was passed by others too often
  std::uint32_t granted = 0;  // tokens in this step
};

// What a plan is made with, beside its queues.
struct AdmissionTools {
  BlockMarket& market;
  LimitBook& book;
  ServiceWalk& walk;
  BeatGuard& beat;
  SwapPlanner& swap;
};

// Sequences of each tier that may run.
using MostRunning = std::array<std::uint32_t, kTiers.size()>;

class Entrance {
 public:
  // `tools`: after the decode rows that go before admission. All arguments outlive the entrance.
  Entrance(const SchedulerOptions& options, const CapacityView& view, const SequencePlaces& places,
           const LengthForecast& lengths, const AdmissionTools& tools);

  // Seats that running sequences were put out of for somebody who waits.
  void add_seats(std::uint32_t seats) { seats_left_ += seats; }
  // For the cascade breaker.
  void limit_running(const MostRunning& most) { most_running_ = most; }

  // Adds the tier's sequences that can enter to `prompts`. Preempted work resumes before unstarted work of its tier.
  void let_in(Tier tier, std::pmr::vector<Prompt>& prompts);
  // Some of those who could enter got no token: they stay in their queue.
  void note_left_out(Tier tier);
  // The same, because its class has had its part of the step.
  void note_ceiling(Tier tier, std::size_t lane) { of(tier).close(lane, WaitReason::kTierCeiling); }

  // Why each queue, as far as it got nothing, got nothing.
  WaitReason resuming_reason(Tier tier) const { return of(tier).resuming; }
  WaitReason unstarted_reason(Tier tier, std::size_t lane) const { return of(tier).unstarted[lane]; }
  // The first one that was looked at; it waits for blocks when short_of_blocks().
  const ScheduledSequence* first_in_line() const { return first_in_line_; }
  bool short_of_blocks() const { return short_of_blocks_; }
  // Lanes of the tier of which somebody was kept out by other things than the class's own ceiling or the breaker.
  const std::pmr::vector<std::size_t>& lanes_kept_out(Tier tier) const { return of(tier).kept_out; }
  // Somebody has a place and waits for the swap arena alone.
  bool waits_for_arena() const { return waits_for_arena_; }

 private:
  struct TierReasons {
    explicit TierReasons(std::pmr::memory_resource* memory) : unstarted(memory), kept_out(memory) {}

    WaitReason resuming = WaitReason::kNone;
    std::pmr::vector<WaitReason> unstarted;  // by lane
    std::pmr::vector<std::size_t> kept_out;
    void close(std::size_t lane, WaitReason reason);
  };

  TierReasons& of(Tier tier) { return reasons_[index_of(tier)]; }
  const TierReasons& of(Tier tier) const { return reasons_[index_of(tier)]; }
  WaitReason let_in_resuming(Tier tier, std::pmr::vector<Prompt>& prompts);
  void let_in_unstarted(Tier tier, std::pmr::vector<Prompt>& prompts);
  void close_all(Tier tier, WaitReason reason);
  bool leaves_others_alone(WaitReason reason) const;
  void note_kept_out(const ScheduledSequence& sequence, WaitReason reason);
  WaitReason obstacle(const ScheduledSequence& sequence, std::uint32_t& looked_at, std::pmr::vector<Prompt>& prompts);
  // Where its seat would come from.
  enum class Seat : std::uint8_t { kFree, kOfAnother };
  WaitReason seat_obstacle(const ScheduledSequence& sequence, Seat& seat) const;
  WaitReason block_obstacle(const ScheduledSequence& sequence, const AdmissionNeeds& needs, Seat seat);
  WaitReason wait_for_blocks(const ScheduledSequence& sequence, const AdmissionNeeds& needs);
  bool fits_beside_reserves(const ScheduledSequence& sequence, const AdmissionNeeds& needs) const;
  GroupCounts spare_beside(const ScheduledSequence& sequence, const AdmissionNeeds& needs, bool is_entitled) const;
  void admit(const ScheduledSequence& sequence, const AdmissionNeeds& needs, std::pmr::vector<Prompt>& prompts);
  void take_place(const ScheduledSequence& sequence, const AdmissionNeeds& needs);

  const SchedulerOptions& options_;
  const CapacityView& view_;
  const SequencePlaces& places_;
  AdmissionTools tools_;
  GrowthReserve growth_;
  std::uint32_t seats_left_ = 0;
  std::uint32_t admitted_ = 0;
  MostRunning running_{};
  MostRunning most_running_;
  bool short_of_blocks_ = false;
  bool waits_for_arena_ = false;
  bool holds_up_nobody_ = false;   // the one that was looked at last: it waits for blocks that others use by right
  bool resuming_hold_up_ = false;  // those of the tier hold up its unstarted ones
  const ScheduledSequence* first_in_line_ = nullptr;
  std::array<TierReasons, kTiers.size()> reasons_;
};

}  // namespace takt
