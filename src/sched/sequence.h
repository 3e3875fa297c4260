// What the scheduler keeps of a sequence between steps. Nothing that is true for one step only.
#pragma once

#include <array>
#include <boost/intrusive/set_hook.hpp>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory_resource>
#include <optional>

#include "base/clock.h"
#include "core/ids.h"
#include "core/request.h"
#include "core/wait_reason.h"

namespace takt {

// Whose work it is, for fairness; the caller makes it from the tenant's name.
using TenantId = StrongId<struct TenantTag>;

// Facts of a sequence when it is handed to the scheduler.
struct SequenceFacts {
  SequenceId id;
  std::optional<SequenceId> leader;  // the choice whose prompt is computed first; empty for that choice itself
  Tier tier = Tier::kRealtime;
  ClassIndex service_class = kNoClass;
  TenantId tenant;
  double weight = 1.0;                    // of its tenant inside the class; above 0
  TimePoint deadline = TimePoint::max();  // of its first token
  Duration window = Duration::max();      // longest time that a batch window may hold it back
  Duration itl_target{0};
  std::uint32_t prompt_tokens = 0;
  std::uint32_t limit_tokens = 0;           // prompt and output at which it ends
  std::uint32_t siblings = 0;               // that wait for this one's prompt
  bool scores_prompt = false;               // prompt rows want logits, and none may come from the prefix cache
  TimePoint expires_at = TimePoint::max();  // leaves the queue unserved after this
  std::uint32_t reserve_tokens = 0;         // positions whose blocks it takes on admission; 0: those of its prompt
};

enum class SequenceState : std::uint8_t { kUnstarted, kSibling, kResuming, kRunning };

// Who starts before whom; lower is sooner.
struct Turn {
  double level = 0.0;       // fair: what the tenant has had; deadline: its seconds; first come, first served: 0
  std::uint64_t order = 0;  // arrival
  auto operator<=>(const Turn&) const = default;  // NOLINT(modernize-use-nullptr): the tool takes the default for one
};

struct Tenant;
struct ServiceFlow;

// Links of the queue that it waits in unstarted: by turn, and by arrival.
using TurnHook = boost::intrusive::set_base_hook<boost::intrusive::tag<struct TurnTag>,
                                                 boost::intrusive::link_mode<boost::intrusive::normal_link>>;
using ArrivalHook = boost::intrusive::set_base_hook<boost::intrusive::tag<struct ArrivalTag>,
                                                    boost::intrusive::link_mode<boost::intrusive::normal_link>>;

struct ScheduledSequence : TurnHook, ArrivalHook {
  SequenceFacts facts;
  std::uint64_t order = 0;  // arrival; smaller is older
  std::size_t lane = 0;     // of its tier's unstarted ones: that of its class
  double weight = 1.0;      // of its tenant's work: the class's times the tenant's own
  TimePoint queued_at;
  SequenceState state = SequenceState::kUnstarted;
  std::uint32_t known = 0;
  std::uint32_t computed = 0;
  std::uint32_t cover = 0;  // positions that its block tables reach
  std::uint32_t preemptions = 0;
  std::uint32_t preemptions_by_own_tier = 0;
  std::uint32_t swapped_until = 0;   // tokens from `computed` to here are in the swap arena; 0: none are
  bool reserved_to_the_end = false;  // protected: resumed with its whole remaining need

  Tenant* tenant = nullptr;
  bool owes_prompt = false;         // admitted once: what is not billed yet of its prompt is owed
  std::uint32_t billed_prompt = 0;  // tokens, cached ones included: computing them again costs nothing
  ServiceFlow* flow = nullptr;      // while it is unstarted and its gate is open
  Turn turn;                        // among the members of its flow
  std::uint64_t overtakings = 0;    // see TierQueues

  WaitTimes waited{};                          // complete spans only
  WaitTimes joined{};                          // its queue's account when it joined
  std::optional<TimePoint> passed_over_since;  // running, but not in the last plan

  std::uint32_t remaining() const { return known - computed; }
  bool is_swapped() const { return swapped_until > computed; }
  // One token to compute: costs what a decode row costs, whatever it is.
  bool is_decode_row() const { return state == SequenceState::kRunning && remaining() == 1; }
};

// Lists of one scheduler share their memory, so that members move between them.
using SequenceList = std::pmr::list<ScheduledSequence>;

inline constexpr std::array kTiers = {Tier::kRealtime, Tier::kBatch};
inline constexpr std::size_t index_of(Tier tier) {
  return static_cast<std::size_t>(tier);
}

}  // namespace takt
