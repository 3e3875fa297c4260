// What the engine tells about itself, as plain data, to any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "core/event.h"
#include "core/ids.h"
#include "core/request.h"
#include "core/wait_reason.h"

namespace takt {

// The swap arena. Counts are since the start.
struct SwapStatus {
  std::uint64_t arena_bytes = 0;  // 0: there is none
  std::uint64_t used_bytes = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t bytes_in = 0;
  Duration time_out{0};  // that transfers took, beside the steps
  Duration time_in{0};
  std::uint64_t failed_writes = 0;
  std::uint64_t failed_reads = 0;  // also what came back changed, or not at all
};

struct EngineStatus {
  bool ready = false;
  std::string reason;  // why not ready; one sentence; empty when ready
  bool draining = false;
  bool failed = false;  // the executor is gone for good

  std::uint32_t running = 0;         // sequences that hold a seat
  std::uint32_t waiting = 0;         // sequences accepted that hold none, preempted ones included
  std::uint64_t waiting_tokens = 0;  // prompt tokens accepted and not admitted
  std::uint32_t blocks_total = 0;    // of the first KV group
  std::uint32_t blocks_free = 0;
  std::uint32_t blocks_cached = 0;
  std::uint32_t blocks_owned = 0;
  std::uint32_t blocks_unused = 0;  // of the owned ones, that running sequences hold behind all their tokens
  // Of the cached ones, which are these four together (kv/prefix_index.h): of turns that have just ended, kept before
  // others, and the rest by the tier of who used them.
  std::uint32_t blocks_lingering = 0;
  std::uint32_t blocks_kept = 0;
  std::uint32_t blocks_realtime = 0;
  std::uint32_t blocks_batch = 0;
  TimePoint linger_end{};                 // from then on none of those that linger now does
  std::uint32_t blocks_pinned = 0;        // kept in the prefix cache before others (KvOptions::pinned_share)
  std::uint64_t unused_cover_tokens = 0;  // positions that running sequences hold blocks for and do not use

  std::uint64_t steps = 0;
  Duration worst_token_gap{0};      // longest time since the last token among sequences that are decoding, as of now
  Duration busy{0};                 // time spent in committed steps
  WaitTimes idle_while_waiting{};   // by reason
  Duration predicted_error_p50{0};  // |measured - predicted| of recent steps
  Duration predicted_error_p90{0};
  SwapStatus swap;
};

struct WaitingSequence {
  RequestId request;
  std::uint32_t choice = 0;
  Tier tier = Tier::kRealtime;
  RequestPhase phase = RequestPhase::kQueued;
  WaitReason reason = WaitReason::kNone;  // kNone: it is in the step that is under way
  std::uint32_t known_tokens = 0;
  std::uint32_t computed_tokens = 0;
  Duration since_last_progress{0};
};

// What everything waits for, as of the last planned step. Readable while a step is stuck.
struct StallReport {
  StepId step;                             // the step under way or last run; 0: none has run
  bool executing = false;                  // it is with the executor
  Duration since_progress{0};              // since the last commit, or since work began to wait
  std::vector<WaitingSequence> sequences;  // running ones, then the heads of the queues
  std::uint32_t sequences_left_out = 0;    // further back in the queues
};

// Watchdog rule, pure: does the engine stand still?
struct ProgressSample {
  bool work_waits = false;
  TimePoint last_progress;  // last commit, or the moment work began to wait
};
bool stands_still(const ProgressSample& sample, TimePoint now, Duration limit);

}  // namespace takt
