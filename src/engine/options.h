// Settings of the engine. Those of its parts are theirs (sched/options.h, kv/options.h).
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "core/ids.h"
#include "kv/options.h"
#include "sched/options.h"
#include "swap/options.h"

namespace takt {

// Bounds of one tier's queue, checked when a request is submitted. A choice counts as a sequence of its own.
struct QueueLimits {
  // Sequences accepted beyond the seats.
  std::uint32_t max_waiting = 512;
  // Prompt tokens accepted and not yet admitted. 0: eight whole contexts. At least one whole context.
  std::uint64_t max_waiting_tokens = 0;
  // Sequences of one tenant, and of one user of a tenant, accepted and not ended. 0: no bound of their own.
  std::uint32_t max_per_tenant = 0;
  std::uint32_t max_per_user = 0;
};

struct EngineOptions {
  ModelIndex model;
  SchedulerOptions sched;
  KvOptions kv;
  SwapOptions swap;
  QueueLimits realtime;
  QueueLimits batch;

  // Not ready when work waits and no step was committed for so long.
  Duration stall_after = std::chrono::seconds(5);
  // A failed step that computed nothing is tried again so often before its requests end with the error.
  std::uint32_t step_retries = 2;
  // Measure the executor at start and fit the step-time model to it, for at most this long. 0: do not measure.
  Duration warm_up = std::chrono::milliseconds(800);
};

}  // namespace takt
