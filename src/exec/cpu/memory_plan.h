// What a model costs on this machine: the same arithmetic for `inspect` and for the executor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "exec/cpu/options.h"
#include "model/decoder.h"
#include "model/weight_source.h"

namespace takt {

struct MemoryPlan {
  std::size_t weight_bytes = 0;
  std::size_t workspace_bytes = 0;
  // To KV: what was free, less workspace, and less the weights where they are still to be loaded.
  std::size_t available_bytes = 0;
  std::size_t kv_block_bytes = 0;
  std::uint32_t kv_block_tokens = 0;
  std::uint32_t kv_blocks = 0;
  std::uint32_t context_tokens = 0;
  std::size_t kv_bytes() const { return kv_blocks * kv_block_bytes; }

  // Conversations of `tokens` tokens that the KV pool holds at once.
  std::uint32_t conversations(std::uint32_t tokens) const {
    return kv_blocks / ((tokens + kv_block_tokens - 1) / kv_block_tokens);
  }
};

// Rows whose logits are made in one pass over the output matrix, and kept.
inline constexpr std::size_t kLogitRows = 64;

WorkspaceLimits workspace_limits(const CpuExecutorOptions& options);
WeightPlace weight_place(const CpuExecutorOptions& options);

// `free_bytes`: memory that may still be used; `to_load`: weights that it must hold as well. The pool never exceeds
// what max_sequences whole contexts need. Errors: kInvalidArgument (an option out of range), kResourceExhausted (not
// even one block fits; the message has the numbers).
Result<MemoryPlan> plan_memory(const Decoder& decoder, std::size_t weight_bytes, bool to_load, std::size_t free_bytes,
                               const CpuExecutorOptions& options);

}  // namespace takt
