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
  kTierCeiling,  // its tier's ceiling
  kFairTurn,     // another tenant's turn
  kWindow,       // held for a batch window
  kModel,        // its model is loading
  kSwappedOut,   // its KV is being copied back
  kSibling,      // waits for the first choice to compute the shared prompt
  kPreemption,   // nothing is admitted in a step that preempted
  kBatchEnd,     // the running batch is closed: it waits for its end (static batching)
};
inline constexpr int kWaitReasonCount = 12;

// Time waited, by reason.
using WaitTimes = std::array<Duration, kWaitReasonCount>;

const char* to_string(WaitReason reason);

}  // namespace takt
