// Why a queue, or a request, got nothing in a step (DESIGN promise 4).
#pragma once

#include <array>
#include <cstdint>

#include "base/clock.h"

namespace takt {

enum class WaitReason : std::uint8_t {
  kNone,         // it got what it asked for
  kSeat,         // all sequence seats are taken
  kStepTime,     // the step's time budget is spent
  kBlocks,       // not enough free KV blocks for the whole prompt
  kTierCeiling,  // its tier's or class's ceiling, or what is free is set aside for others
  kFairTurn,     // another one's turn by the order of its tier: it was overtaken in this step
  kWindow,       // held for a batch window
  kModel,        // its model is loading
  kSwappedOut,   // its KV is being copied back
  kSibling,      // waits for the first choice to compute the shared prompt
  kPreemption,   // nothing is admitted in a step that preempted
  kBatchEnd,     // the running batch is closed: it waits for its end (static batching)
  kBreaker,      // admission is shrunk after too many preemptions
};
inline constexpr int kWaitReasonCount = 13;

// Time waited, by reason.
using WaitTimes = std::array<Duration, kWaitReasonCount>;

const char* to_string(WaitReason reason);

}  // namespace takt
