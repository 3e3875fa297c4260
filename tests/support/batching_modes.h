// Settings and models that several engine tests run through.
#pragma once

#include <chrono>
#include <cstdint>

#include "sched/options.h"
#include "support/engine_harness.h"

namespace takt::testing {

// Few blocks for the answers' length: sequences take them from each other.
inline FakeScript short_of_blocks() {
  FakeScript script = quick_script();
  script.context_tokens = 256;
  script.block_count = 40;
  script.length = 60;
  return script;
}

// A naive static batch: waits for `size` or 50 ms, pads, and its answers leave together.
inline SchedulerOptions static_batches(std::uint32_t size) {
  SchedulerOptions sched;
  sched.join = JoinRule::kWhenEmpty;
  sched.prefill = PrefillRule::kWhole;
  sched.padding = true;
  sched.leave = LeaveRule::kWithBatch;
  sched.max_sequences = size;
  sched.window = {size, 0.0, std::chrono::milliseconds(50), false};
  return sched;
}

inline EngineOptions with(SchedulerOptions sched) {
  EngineOptions options;
  options.sched = sched;
  return options;
}

}  // namespace takt::testing
