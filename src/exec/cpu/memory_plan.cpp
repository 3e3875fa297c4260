#include "exec/cpu/memory_plan.h"

#include <algorithm>
#include <string>

namespace takt {
namespace {

Status check(const CpuExecutorOptions& options) {
  if (options.max_sequences < 1 || options.max_sequences > kMostSequences) {
    return Error::invalid("max_sequences", "max_sequences must be from 1 to " + std::to_string(kMostSequences));
  }
  if (options.max_step_tokens < 1 || options.max_step_tokens > kMostStepTokens) {
    return Error::invalid("max_step_tokens", "max_step_tokens must be from 1 to " + std::to_string(kMostStepTokens));
  }
  if (!(options.memory_share > 0.0 && options.memory_share <= 1.0)) {
    return Error::invalid("memory_share", "memory_share must be above 0 and at most 1");
  }
  if (options.kv_blocks > kMostKvBlocks) {
    return Error::invalid("kv_blocks", "kv_blocks must be at most " + std::to_string(kMostKvBlocks));
  }
  return {};
}

}  // namespace

WorkspaceLimits workspace_limits(const CpuExecutorOptions& options) {
  return {.rows = options.max_step_tokens, .logit_rows = kLogitRows};
}

WeightPlace weight_place(const CpuExecutorOptions& options) {
  return options.repack ? WeightPlace::kMemory : WeightPlace::kFile;
}

Result<MemoryPlan> plan_memory(const Decoder& decoder, std::size_t weight_bytes, bool to_load, std::size_t free_bytes,
                               const CpuExecutorOptions& options) {
  if (Status status = check(options); !status) return status.error();
  const KvLayout layout = decoder.kv_layout(options.kv_type, options.block_tokens);
  if (Status status = layout.check(); !status) return status.error();
  const WorkspaceShape shape = decoder.workspace_shape();
  const std::uint32_t model_context = decoder.hyperparameters().context_length;

  MemoryPlan plan;
  plan.weight_bytes = weight_bytes;
  plan.workspace_bytes =
      DecoderWorkspace::bytes(shape, workspace_limits(options)) + kLogitRows * shape.vocabulary * sizeof(float);
  plan.kv_block_bytes = layout.block_bytes();
  plan.kv_block_tokens = layout.block_tokens;
  plan.context_tokens =
      options.max_context_tokens == 0 ? model_context : std::min(model_context, options.max_context_tokens);
  const std::size_t taken = plan.workspace_bytes + (to_load ? weight_bytes : 0);
  plan.available_bytes = free_bytes > taken ? free_bytes - taken : 0;

  const std::size_t context_blocks = (plan.context_tokens + plan.kv_block_tokens - 1) / plan.kv_block_tokens;
  const std::size_t useful = std::min<std::size_t>(context_blocks * options.max_sequences, kMostKvBlocks);
  const auto share = static_cast<std::size_t>(static_cast<double>(plan.available_bytes) * options.memory_share);
  const std::size_t budget = options.kv_bytes != 0 ? std::min(options.kv_bytes, plan.available_bytes) : share;
  const std::size_t blocks =
      options.kv_blocks != 0 ? options.kv_blocks : std::min(budget / plan.kv_block_bytes, useful);
  if (blocks == 0 || blocks > plan.available_bytes / plan.kv_block_bytes) {
    return Error{ErrorCode::kResourceExhausted,
                 "not enough memory for the KV cache: " + std::to_string(std::max<std::size_t>(blocks, 1)) +
                     " blocks of " + std::to_string(plan.kv_block_bytes) + " bytes, " + std::to_string(budget) +
                     " of " + std::to_string(plan.available_bytes) + " bytes may be used",
                 "kv_blocks"};
  }
  plan.kv_blocks = static_cast<std::uint32_t>(blocks);
  return plan;
}

}  // namespace takt
