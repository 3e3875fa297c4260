// What the scheduler keeps of a sequence between steps. Nothing that is true for one step only.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <optional>

#include "base/clock.h"
#include "core/ids.h"
#include "core/request.h"
#include "core/wait_reason.h"
#include "sched/wait_account.h"

namespace takt {

// Facts of a sequence when it is handed to the scheduler.
struct SequenceFacts {
  SequenceId id;
  std::optional<SequenceId> leader;  // the choice whose prompt is computed first; empty for that choice itself
  Tier tier = Tier::kRealtime;
  ClassIndex service_class = kNoClass;
  double weight = 1.0;                        // of its tenant inside the class
  TimePoint deadline = TimePoint::max();      // of its first token
  Duration window = Duration::max();          // longest time that a batch window may hold it back
  Duration itl_target{0};
  std::uint32_t prompt_tokens = 0;
  std::uint32_t limit_tokens = 0;           // prompt and output at which it ends
  std::uint32_t siblings = 0;               // that wait for this one's prompt
  bool scores_prompt = false;               // prompt rows want logits, and none may come from the prefix cache
  TimePoint expires_at = TimePoint::max();  // leaves the queue unserved after this
  std::uint32_t reserve_tokens = 0;         // positions whose blocks it takes on admission; 0: those of its prompt
};

enum class SequenceState : std::uint8_t { kUnstarted, kSibling, kResuming, kRunning };

struct ScheduledSequence {
  SequenceFacts facts;
  std::uint64_t order = 0;  // arrival; smaller is older
  TimePoint queued_at;
  SequenceState state = SequenceState::kUnstarted;
  std::uint32_t known = 0;
  std::uint32_t computed = 0;
  std::uint32_t cover = 0;  // positions that its block tables reach
  std::uint32_t preemptions = 0;
  std::uint32_t preemptions_by_own_tier = 0;
  bool reserved_to_the_end = false;  // protected: resumed with its whole remaining need

  WaitTimes waited{};                          // complete spans only
  WaitTimes joined{};                          // its queue's account when it joined
  std::optional<TimePoint> passed_over_since;  // running, but not in the last plan

  std::uint32_t remaining() const { return known - computed; }
  // One token to compute: costs what a decode row costs, whatever it is.
  bool is_decode_row() const { return state == SequenceState::kRunning && remaining() == 1; }
};

using SequenceList = std::list<ScheduledSequence>;

inline constexpr std::array kTiers = {Tier::kRealtime, Tier::kBatch};
inline constexpr std::size_t index_of(Tier tier) {
  return static_cast<std::size_t>(tier);
}

struct TierQueues {
  SequenceList unstarted;  // in order of arrival
  SequenceList resuming;   // in order of arrival: preempted ones, and siblings whose prompt is computed
  SequenceList siblings;
  std::uint64_t open_to =
      0;  // unstarted ones up to this order may enter; those behind wait for a window or for the batch
  WaitAccount unstarted_waits;
  WaitAccount resuming_waits;
  WaitAccount sibling_waits;
};

struct SequencePlaces {
  std::array<TierQueues, kTiers.size()> tiers;
  SequenceList running;

  TierQueues& of(Tier tier) { return tiers[index_of(tier)]; }
  const TierQueues& of(Tier tier) const { return tiers[index_of(tier)]; }
};

}  // namespace takt
