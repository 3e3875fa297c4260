// The executor that computes on this machine's CPUs.
#pragma once

#include <filesystem>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "exec/cpu/cpu_runtime.h"
#include "exec/cpu/kv_arena.h"
#include "exec/cpu/memory_plan.h"
#include "exec/cpu/options.h"
#include "exec/cpu/step_batch.h"
#include "exec/executor.h"
#include "model/load.h"
#include "sampling/sampler.h"

namespace takt {

// Depth 1: a step is computed inside collect(), on the caller's thread and the pool's. A token depends on the model
// file, the sequence's parameters and its known tokens alone: not on other entries, chunks, blocks, threads or the
// instruction set.
class CpuExecutor final : public Executor {
 public:
  // `clock` outlives the executor and measures steps. Errors: as load_model, make_cpu_runtime and plan_memory.
  static Result<std::unique_ptr<CpuExecutor>> load(const std::filesystem::path& model,
                                                   const CpuExecutorOptions& options, const Clock& clock,
                                                   LoadProgress progress = {});

  // The same of a file that is open already. `runtime`: as make_cpu_runtime(options) gives it.
  static Result<std::unique_ptr<CpuExecutor>> load(PlannedModel model, CpuRuntime runtime,
                                                   const CpuExecutorOptions& options, const Clock& clock,
                                                   LoadProgress progress = {});

  const ModelVocabulary& vocabulary() const { return model_.vocabulary; }
  const MemoryPlan& memory_plan() const { return plan_; }
  const CpuRuntime& runtime() const { return runtime_; }

  // Steps from the next one on are measured by phase, until null is given.
  void measure_phases(PhaseTimes* times) { workspace_.phases = times; }

  std::uint32_t layers() const { return model_.decoder->hyperparameters().layers; }
  // Steps from the next one on go through every `nth` layer alone: for measuring, what they answer means nothing. 1:
  // all layers again.
  void compute_every(std::uint32_t nth) { workspace_.layer_stride = nth; }

  const ExecutorCapabilities& capabilities() const override { return capabilities_; }
  Status open(SequenceSpec spec) override;
  void close(SequenceId sequence) noexcept override;
  Result<StepTicket> submit(const BoundStep& step) override;
  Result<StepResult> collect(StepTicket ticket) override;
  void take_back(StepResult&& result) noexcept override { spare_ = std::move(result); }
  Status read_block(GroupId group, BlockId block, std::span<std::byte> bytes) const override;
  Status write_block(GroupId group, BlockId block, std::span<const std::byte> bytes) override;

 private:
  CpuExecutor(CpuRuntime runtime, LoadedModel model, KvArena arena, const MemoryPlan& plan,
              const CpuExecutorOptions& options, const Clock& clock);
  Status reserve(const CpuExecutorOptions& options);
  Status compute(StepResult& result);
  // Makes the logits of up to kLogitRows rows and turns each into a token or a logprob.
  Status finish_rows(std::span<const LogitRow> rows, StepResult& result);
  bool wants_best_only(const LogitRow& row) const;
  void finish_row(const LogitRow& row, std::span<const float> logits, SamplerScratch& scratch,
                  EntryResult& entry) const;
  Status check_block(GroupId group, BlockId block, std::size_t bytes) const;

  CpuRuntime runtime_;
  LoadedModel model_;
  KvArena arena_;
  MemoryPlan plan_;
  const Clock& clock_;
  ExecutorCapabilities capabilities_;
  StepLimits limits_;

  std::unordered_map<SequenceId, SamplerState> sequences_;
  bool step_submitted_ = false;
  BoundStep step_;
  StepBatch batch_;
  std::vector<SamplerState*> samplers_;  // per entry of the step
  StepResult spare_;                     // of an earlier step, for its memory

  DecoderWorkspace workspace_;
  AlignedBuffer logits_;
  std::vector<LogitRow> tile_;  // rows that need all their logits first
  std::vector<std::uint32_t> tile_rows_;
  std::vector<RowBest> best_;            // of the others
  std::vector<EntryResult> outcomes_;    // per row of a tile
  std::vector<SamplerScratch> scratch_;  // per thread
};

}  // namespace takt
