// Every change in a request's life, as the engine publishes it (and, at its very end, the serving side). Metrics, the
// text side, logs and explain read these and nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "core/finish_reason.h"
#include "core/ids.h"
#include "core/prefix_miss.h"
#include "core/request.h"
#include "core/step.h"
#include "core/wait_reason.h"

namespace takt {

struct Accepted {
  RequestId request;
  ModelIndex model;
  RequestLabels labels;
  ServiceTargets targets;
  TimePoint arrival;
  std::uint32_t prompt_tokens = 0;
  std::uint32_t choices = 1;
};

// The first sequence of the request has its blocks: the HTTP status line may go out. Its time is that of the plan that
// took it in; it is published with that step's other events, since a step that fails admits nobody.
struct Admitted {
  RequestId request;
  std::uint32_t cached_tokens = 0;      // prompt tokens found in the prefix cache
  PrefixMiss miss = PrefixMiss::kNone;  // why no more were
};

// One choice has a seat, for the first time or again: from this step on it is computed. Its time is that of the plan.
struct Seated {
  RequestId request;
  std::uint32_t choice = 0;
  std::uint32_t ready_tokens = 0;  // known tokens that need no computing: found in the cache, shared, or kept
  WaitTimes waited{};              // by reason, all its waits so far
};

// One token of one choice. Choices' tokens come in order. The end token that ends a choice is neither published nor
// counted.
struct TokenSampled {
  RequestId request;
  std::uint32_t choice = 0;
  std::uint32_t index = 0;  // 0 for the first generated token
  SampledToken token;
};

// Logprobs of prompt tokens 1.. (in order; may come in pieces).
struct PromptScored {
  RequestId request;
  std::vector<PromptLogprob> logprobs;
};

// One choice lost its seat. With no dropped tokens it kept its blocks and goes on where it was.
struct Preempted {
  RequestId request;
  std::uint32_t choice = 0;
  std::uint32_t dropped_tokens = 0;     // to be computed again
  Tier in_favour_of = Tier::kRealtime;  // of what took its place
  WaitTimes waited{};                   // by reason, all its waits so far
  std::uint32_t swapped_tokens = 0;     // to be copied back from the swap arena
};

// One choice that waits without a seat gave up more of what it had computed.
struct TailTaken {
  RequestId request;
  std::uint32_t choice = 0;
  std::uint32_t dropped_tokens = 0;  // to be computed again, with what it had in the swap arena
  std::uint32_t swapped_tokens = 0;  // to be copied back
  Tier in_favour_of = Tier::kRealtime;
};

// One choice ended.
struct ChoiceFinished {
  RequestId request;
  std::uint32_t choice = 0;
  FinishReason reason = FinishReason::kStop;
  std::uint32_t generated_tokens = 0;  // = TokenSampled events of the choice
  Error error;                         // kFailed and kExpired
};

enum class RequestPhase : std::uint8_t { kQueued, kPrefill, kDecode };
const char* to_string(RequestPhase phase);

// The request is over and holds nothing any more. Always the engine's last event of a request.
struct Closed {
  RequestId request;
  RequestPhase phase = RequestPhase::kQueued;  // where it was when it ended
  FinishReason reason = FinishReason::kStop;   // of the choice that ended last
  std::uint64_t seed = 0;
  std::uint32_t cached_tokens = 0;
  std::uint32_t preemptions = 0;
  WaitTimes waited{};              // by WaitReason, the choices' waits added up
  std::uint32_t prompt_steps = 0;  // that computed prompt tokens, of the first choice; again after a preemption too
};

enum class AnswerOutcome : std::uint8_t { kAnswered, kFailed, kClientGone, kSlowReader };
const char* to_string(AnswerOutcome outcome);

// The serving side is done with the request's answer: its last byte is on the way to the socket, or nobody reads it any
// more (which may be before Closed). Published on the thread that writes answers.
struct Delivered {
  RequestId request;
  AnswerOutcome outcome = AnswerOutcome::kAnswered;
};

// What a waiting choice had in the swap arena is lost (a read or write failed): it is computed again.
struct SwapLost {
  RequestId request;
  std::uint32_t choice = 0;
  std::uint32_t tokens = 0;
};

// One step was committed. Latencies of single requests are taken from the events above.
struct StepCommitted {
  ModelIndex model;
  StepPlan plan;
  Duration measured{0};
  std::uint32_t running = 0;
  std::uint32_t waiting = 0;
  std::uint64_t waiting_tokens = 0;
  std::uint32_t blocks_total = 0;
  std::uint32_t blocks_free = 0;
  std::uint32_t blocks_cached = 0;
  std::uint32_t blocks_owned = 0;
  std::uint64_t unused_cover_tokens = 0;  // positions that running sequences hold blocks for and do not use
};

// Work waited while the machine did nothing, from the end of the last step to now.
struct IdleWhileWorkWaits {
  ModelIndex model;
  Duration idle{0};
  WaitReason reason = WaitReason::kNone;
};

struct StepFailed {
  ModelIndex model;
  StepId step;
  bool retryable = false;
  Error error;
};

struct Event {
  TimePoint at;
  std::variant<Accepted, Admitted, Seated, TokenSampled, PromptScored, Preempted, TailTaken, SwapLost, ChoiceFinished,
               Closed, Delivered, StepCommitted, IdleWhileWorkWaits, StepFailed>
      what;
};

// Receives the engine's events in batches, on the engine thread. Must not block and must not throw.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void publish(const std::vector<Event>& events) noexcept = 0;
};

}  // namespace takt
