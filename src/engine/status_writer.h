// Writes what the engine stands at to its status board, before a step is executed and after each turn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "core/step_time_model.h"
#include "engine/sequence_store.h"
#include "engine/status_board.h"
#include "engine/swap_traffic.h"
#include "kv/kv_cache.h"
#include "sched/scheduler.h"

namespace takt {

// What the engine has done so far.
struct StepTally {
  StepId last;  // that went to the executor
  std::uint64_t steps = 0;
  Duration busy{0};
  WaitTimes idle{};  // while work waited, by reason
};

// All outlive the writer.
struct StatusWriterParts {
  StatusBoard& board;
  const Scheduler& scheduler;
  const KvCache& kv;
  const SequenceStore& store;
  const StepTimeModel& step_time;
  const SwapTraffic& swap;
  std::uint32_t block_tokens = 1;  // of the first KV group
};

class StatusWriter {
 public:
  explicit StatusWriter(const StatusWriterParts& parts) : parts_(parts) {}

  // `fatal`: why the executor is gone. Skipped while somebody reads.
  void write(const StepTally& tally, const std::optional<std::string>& fatal, TimePoint now, bool another_follows);

 private:
  void write_memory(EngineStatus& status) const;
  void write_sequences(BoardEntry& entry, TimePoint now);

  StatusWriterParts parts_;
  std::vector<SequenceView> looked_at_;  // kept for its memory
};

}  // namespace takt
