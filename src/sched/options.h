// Settings of the scheduler.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "core/service_class.h"

namespace takt {

// When waiting sequences may join those that run.
enum class JoinRule : std::uint8_t {
  kEveryStep,  // continuous batching
  kWhenEmpty,  // request-level and static batching: a batch is closed when it starts, and runs to its end
};

// How prompts are computed.
enum class PrefillRule : std::uint8_t {
  kChunked,  // in pieces that fit the step's time
  kWhole,    // in one step, however long that takes; in several only when it exceeds max_step_tokens
};

// What must be free before a sequence is admitted, beside its own blocks.
enum class AdmissionRule : std::uint8_t {
  kGreedy,     // the watermark
  kPredicted,  // what all that run will need at their peak, by the lengths of earlier answers
  kWorstCase,  // what all that run need if each reaches its limit: nobody is ever preempted
};

// The blocks a sequence takes when it is admitted.
enum class KvReserve : std::uint8_t {
  kPaged,      // of its prompt; then one block at a time
  kWorstCase,  // of its prompt and its whole output limit
  kContext,    // of a whole context, as servers did before paging
};

// What happens when running sequences need more blocks than there are.
enum class PreemptionRule : std::uint8_t {
  kNone,       // it can't happen: only together with worst-case admission or a reserve
  kRecompute,  // the lowest tier's newest gives up tail blocks and computes them again later
  kSwap,       // the same, but they are copied to the swap arena and back, as far as there is room in it
  kAuto,       // whichever of the two is predicted to be quicker; without an arena it is kRecompute
};

// Who of a tier's waiting starts first.
enum class OrderRule : std::uint8_t {
  kFcfs,      // who came first
  kFair,      // whose tenant has had least: the virtual token counter
  kDeadline,  // whose first token is due first
};

// What a token costs a tenant, in the order kFair. Work that is done again after a preemption costs nothing.
struct FairWeights {
  double prompt = 1.0;  // computed
  double cached = 0.1;  // found in the prefix cache
  double output = 2.0;
};

// When the answers of a batch leave.
enum class LeaveRule : std::uint8_t { kWhenFinished, kWithBatch };

// Holds unstarted sequences back so that more of them start together. Open when `min_batch` wait, or `served_ratio`
// times as many as run, or when the oldest has waited for `max_wait`.
struct WindowOptions {
  std::uint32_t min_batch = 1;
  double served_ratio = 0.0;
  Duration max_wait{0};
  // Never holds while nothing runs: the machine would idle for nothing, and a lone request would wait for mates. Nor
  // anybody longer than the class allows (ServiceTargets::window).
  bool adaptive = true;

  bool holds() const { return (min_batch > 1 || served_ratio > 0.0) && max_wait > Duration::zero(); }
};

// Shrinks admission when preemptions come too fast (sched/cascade_breaker.h).
struct BreakerOptions {
  // More preemptions of running sequences for want of blocks within a minute trip it; then they are counted anew.
  // 0: never.
  std::uint32_t preemptions_per_minute = 60;
  // From nothing back to all. At least a second.
  Duration recovery = std::chrono::seconds(20);
};

struct SchedulerOptions {
  ClassTable classes;
  JoinRule join = JoinRule::kEveryStep;
  WindowOptions window;
  PrefillRule prefill = PrefillRule::kChunked;
  // Computes padding as a naive static batch does: prompts that start together to the longest one, and a row per step
  // for each answer that has ended while its batch goes on. Only with kWhenEmpty and kWhole.
  bool padding = false;
  LeaveRule leave = LeaveRule::kWhenFinished;
  AdmissionRule admission = AdmissionRule::kGreedy;
  KvReserve reserve = KvReserve::kPaged;
  PreemptionRule preemption = PreemptionRule::kAuto;

  OrderRule order = OrderRule::kFcfs;
  FairWeights fair;
  // Younger ones that may start before a sequence, by their deadline or because they are short; then it is next. Those
  // that start in the same step with the last one come on top. At least 1. Not where tenants take turns.
  std::uint32_t max_overtakes = 64;

  // Seats: sequences that run at once. A cap only; memory and step time decide. Also capped by the executor.
  std::uint32_t max_sequences = 64;
  // Rows of one step. A cap only; the step budget is time. Also capped by the executor. At least max_sequences.
  std::uint32_t max_step_tokens = 2048;

  // Longest step while a realtime sequence is decoding; a tighter inter-token target among them counts instead.
  // Smaller: smoother streams, slower prompts.
  Duration step_target = std::chrono::milliseconds(50);
  // Longest step otherwise: a realtime request may arrive at any moment and then waits for its end.
  Duration max_step = std::chrono::milliseconds(200);
  // Such a step is only as long as makes what it costs beside its rows this part of it, but not shorter than
  // step_target: longer ones would gain nearly nothing (ADR 23). 0: always max_step. 0 to 0.5.
  double step_overhead = 0.05;
  // A realtime sequence joins only while the decode rows of all that run would alone take less than this share of the
  // tightest inter-token target among them, or it waits for step time (sched/beat_guard.h). 0: whatever they take.
  double decode_share = 0.8;
  // Part of the step budget that prefill leaves unplanned, against errors of the step-time model. 0 to 0.5.
  double planning_margin = 0.05;

  // Share of the prefill time of a step that is not the oldest prompt's: new and short prompts start at once on it. 0.1
  // to 0.9. Larger: short prompts answer sooner behind a long one, the long one takes longer.
  double newcomer_share = 0.75;
  // Steps of decode rows alone in a row while prefill waits, before prefill gets one block of tokens although there is
  // no time left. At least 1.
  std::uint32_t max_decode_only_steps = 1;

  // Part of the time of steps that the batch tier gets for sure while it has work, whatever the realtime tier asks; a
  // class of it that runs or waits may ask for more. 0: it may starve. 0 to 0.5.
  double batch_min_share = 0.05;

  BreakerOptions breaker;

  // Part of the KV blocks that admission leaves free for the growth of running sequences. 0 to 0.5.
  double watermark = 0.01;
  // A sequence preempted so often by its own tier resumes only with its whole remaining need reserved, and is then not
  // preempted by that tier.
  std::uint32_t protect_after = 3;
  // Queue heads looked at per step and tier. At least 1.
  std::uint32_t lookahead = 32;
};

}  // namespace takt
