// How long whole steps take, from steps through a few of the layers: for models whose steps are too long for a dozen of
// them at every start.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/cpu/speed_probe.h"

namespace takt {

struct EstimatedStep {
  StepLoad load;
  Duration time{0};
};

// Each step computes the embedding, layers at equal distances and, when it samples, the logits; the layers' part counts
// as often as the model has layers for one that was computed. So layers of two kinds are an average.
class StepEstimate {
 public:
  // As SpeedProbe's: `executor` outlives this and has no open sequences; what its KV blocks hold is overwritten.
  explicit StepEstimate(CpuExecutor& executor);
  ~StepEstimate();
  StepEstimate(const StepEstimate&) = delete;
  StepEstimate& operator=(const StepEstimate&) = delete;

  // Errors: as SpeedProbe::step.
  Result<Duration> step(const StepLoad& load);

  // What tells the costs of a step, of a row and of the positions that rows attend to apart: one row, a few, and a few
  // far behind, where context and KV pool reach as far. Errors: as step().
  Result<std::vector<EstimatedStep>> telling_steps();

 private:
  CpuExecutor& executor_;
  SpeedProbe probe_;
  PhaseTimes times_;
  double layers_for_one_;  // of the model, for a computed one
};

}  // namespace takt
