#include "exec/cpu/step_estimate.h"

#include <algorithm>

#include "core/kv_group.h"

namespace takt {
namespace {

constexpr std::uint32_t kComputedLayers = 4;  // together more than a cache holds
constexpr std::uint32_t kFewRows = 4;
constexpr std::uint32_t kFarPosition = 1000;

bool is_part_of_layers(StepPhase phase) {
  return phase != StepPhase::kOther && phase != StepPhase::kLogits && phase != StepPhase::kSample;
}

}  // namespace

StepEstimate::StepEstimate(CpuExecutor& executor)
    : executor_(executor), probe_(executor), times_(*executor.runtime().pool) {
  const std::uint32_t layers = executor.layers();
  const std::uint32_t nth = std::max(1U, (layers + kComputedLayers - 1) / kComputedLayers);
  const std::uint32_t computed = (layers + nth - 1) / nth;
  layers_for_one_ = static_cast<double>(layers) / computed;
  executor_.compute_every(nth);
  executor_.measure_phases(&times_);
}

StepEstimate::~StepEstimate() {
  executor_.measure_phases(nullptr);
  executor_.compute_every(1);
}

Result<Duration> StepEstimate::step(const StepLoad& load) {
  times_.clear();
  const auto computed = probe_.step(load);
  if (!computed) return computed.error();
  double seconds = 0.0;
  for (std::size_t i = 0; i < kStepPhases; ++i) {
    const auto phase = static_cast<StepPhase>(i);
    seconds += to_seconds(times_.of(phase).wall) * (is_part_of_layers(phase) ? layers_for_one_ : 1.0);
  }
  return from_seconds(seconds);
}

Result<std::vector<EstimatedStep>> StepEstimate::telling_steps() {
  const ExecutorCapabilities& can = executor_.capabilities();
  const auto tokens = static_cast<std::uint32_t>(std::min<std::uint64_t>(pool_tokens(can.groups), can.context_tokens));
  std::vector<EstimatedStep> steps(1);  // of one row
  const std::uint32_t few = std::min(kFewRows, can.max_step_tokens);
  if (few > 1 && tokens >= few) {
    steps.push_back({{0, few}, {}});
    if (tokens > few) steps.push_back({{std::min(kFarPosition, tokens - few), few}, {}});
  }
  for (EstimatedStep& one : steps) {
    const auto time = step(one.load);
    if (!time) return time.error();
    one.time = *time;
  }
  return steps;
}

}  // namespace takt
