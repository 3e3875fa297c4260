// The steps of one engine out of a step log, each with what every sequence did in it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "core/step.h"
#include "metrics/step_log_reader.h"

namespace takt::app {

enum class CellState : std::uint8_t {
  kWaiting,    // has no seat yet
  kPrefill,    // known tokens are computed
  kDecode,     // one token is generated
  kPreempted,  // lost its seat
  kPaused,     // has a seat, and the step had no time for it
  kSwapped,    // lost its seat; what it had computed is in the swap arena
};

struct StepCell {
  SequenceId sequence;
  RequestId request;
  std::uint32_t choice = 0;
  Tier tier = Tier::kRealtime;
  CellState state = CellState::kWaiting;
  std::uint32_t tokens = 0;
};

struct StepView {
  StepPlan plan;
  TimePoint begin;
  TimePoint end;
  Duration measured{0};
  std::uint32_t running = 0;  // after its admissions
  std::uint32_t waiting = 0;
  std::uint32_t blocks_free = 0;  // of the first group, cached ones included
  std::uint32_t prefill_tokens = 0;
  std::vector<StepCell> cells;  // where they were asked for
};

struct StepRange {
  std::uint64_t first = 0;
  std::uint64_t last = ~std::uint64_t{0};
  bool contains(StepId id) const { return id.value >= first && id.value <= last; }
};

class StepHistory {
 public:
  // Cells are made for steps in `with_cells`; none without it.
  StepHistory(metrics::StepLogReader log, ModelIndex model, std::optional<StepRange> with_cells);

  // The next committed step; empty at the end. Errors: those of the reader.
  Result<std::optional<StepView>> next();

 private:
  void take(metrics::StepRecord& record);
  std::vector<StepCell> cells() const;

  metrics::StepLogReader log_;
  const ModelIndex model_;
  const std::optional<StepRange> with_cells_;
  metrics::TapeState state_;
  std::optional<StepView> planned_;
  std::optional<StepView> done_;
};

// A stretch worth a look: the longest one in which prompts are computed beside running streams, with some steps around
// it, at most `most` steps; the last `most` steps where there is none. Errors: those of the reader.
Result<StepRange> choose_range(metrics::StepLogReader log, ModelIndex model, std::uint64_t most);

}  // namespace takt::app
