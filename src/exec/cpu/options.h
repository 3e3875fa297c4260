// How the CPU executor uses this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kernels/kv_type.h"

namespace takt {

// What one executor can be asked for.
inline constexpr std::uint32_t kMostSequences = 4096;
inline constexpr std::uint32_t kMostStepTokens = 65536;
inline constexpr std::uint32_t kMostKvBlocks = 1U << 24U;

struct CpuExecutorOptions {
  int threads = 0;  // 0: what affinity and quota allow
  std::string isa;  // "": TAKT_ISA, else the best; or one of its values
  KvType kv_type = KvType::kF16;
  bool repack = true;               // false: matrices stay in the file and are read again in every step
  std::uint32_t block_tokens = 16;  // a multiple of 16
  std::uint32_t kv_blocks = 0;      // 0: from kv_bytes, or from the memory that is left
  std::size_t kv_bytes = 0;         // 0: from the memory that is left
  double memory_share = 0.6;  // of the memory left after weights and workspace that KV may take when nothing is given
  std::uint32_t max_context_tokens = 0;  // 0: the model's own
  std::uint32_t max_sequences = 64;
  std::uint32_t max_step_tokens = 1024;
};

}  // namespace takt
