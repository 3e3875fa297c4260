#include "core/event.h"
#include "core/finish_reason.h"
#include "core/prefix_miss.h"
#include "core/wait_reason.h"

namespace takt {

const char* to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kExpired:
      return "expired";
    case FinishReason::kFailed:
      return "failed";
  }
  return "failed";
}

const char* to_string(WaitReason reason) {
  switch (reason) {
    case WaitReason::kNone:
      return "none";
    case WaitReason::kSeat:
      return "seat";
    case WaitReason::kStepTime:
      return "step_time";
    case WaitReason::kBlocks:
      return "blocks";
    case WaitReason::kTierCeiling:
      return "tier_ceiling";
    case WaitReason::kFairTurn:
      return "fair_turn";
    case WaitReason::kWindow:
      return "window";
    case WaitReason::kModel:
      return "model";
    case WaitReason::kSwappedOut:
      return "swapped_out";
    case WaitReason::kSibling:
      return "sibling";
    case WaitReason::kPreemption:
      return "preemption";
    case WaitReason::kBatchEnd:
      return "batch_end";
    case WaitReason::kBreaker:
      return "breaker";
  }
  return "none";
}

const char* to_string(PrefixMiss miss) {
  switch (miss) {
    case PrefixMiss::kNone:
      return "none";
    case PrefixMiss::kOff:
      return "off";
    case PrefixMiss::kUnknown:
      return "unknown";
    case PrefixMiss::kNew:
      return "new";
    case PrefixMiss::kDiverged:
      return "diverged";
    case PrefixMiss::kEvicted:
      return "evicted";
  }
  return "none";
}

const char* to_string(RequestPhase phase) {
  switch (phase) {
    case RequestPhase::kQueued:
      return "queued";
    case RequestPhase::kPrefill:
      return "prefill";
    case RequestPhase::kDecode:
      return "decode";
  }
  return "queued";
}

const char* to_string(AnswerOutcome outcome) {
  switch (outcome) {
    case AnswerOutcome::kAnswered:
      return "answered";
    case AnswerOutcome::kFailed:
      return "failed";
    case AnswerOutcome::kClientGone:
      return "client_gone";
    case AnswerOutcome::kSlowReader:
      return "slow_reader";
  }
  return "failed";
}

}  // namespace takt
