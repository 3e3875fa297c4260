// Logits of a prompt as numbers, for people and tests that check a model against another implementation (`takt debug
// logprobs`).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/result.h"
#include "exec/cpu/cpu_runtime.h"
#include "exec/cpu/kv_arena.h"
#include "model/load.h"
#include "sampling/candidates.h"

namespace takt {

// `position` is the index of the input token whose output is asked for.
struct IdsAtPosition {
  std::uint32_t position = 0;
  std::vector<TokenId> ids;
};

struct LogprobQuery {
  std::vector<TokenId> prompt_ids;    // fed as they are
  std::uint32_t generate = 0;         // tokens to add, each the argmax, going on after an end token
  std::uint32_t top = 16;             // best tokens to list per position
  std::vector<IdsAtPosition> ids_at;  // positions and ids that are wanted besides
};

struct PositionLogprobs {
  std::uint32_t position = 0;
  TokenId argmax = 0;
  std::vector<TokenId> top_ids;     // best first
  std::vector<float> top_logprobs;  // natural log, over the whole vocabulary
  std::vector<TokenId> ids;         // as asked for
  std::vector<float> logprobs;
};

struct LogprobAnswer {
  std::vector<TokenId> greedy_ids;
  std::vector<PositionLogprobs>
      positions;  // ascending: 16 spread over the prompt, its last, every generated one's, and those of ids_at
};

class LogprobProbe {
 public:
  static constexpr std::uint32_t kMostTop = 1024;

  // Of `options`, threads, isa, kv_type, repack, block_tokens, max_context_tokens and max_step_tokens (the chunk size)
  // count. Errors: as load_model.
  static Result<std::unique_ptr<LogprobProbe>> load(const std::filesystem::path& model,
                                                    const CpuExecutorOptions& options);

  // Errors: kInvalidArgument (an empty prompt, an id or position out of range), kContextLength.
  Result<LogprobAnswer> answer(const LogprobQuery& query);

  const LoadedModel& model() const { return model_; }

 private:
  LogprobProbe(CpuRuntime runtime, LoadedModel model, KvArena arena, std::uint32_t chunk);
  Status check(const LogprobQuery& query) const;
  Status feed(const LogprobQuery& query, std::span<const TokenId> tokens, std::uint32_t first_position,
              LogprobAnswer& answer);
  Status score(const LogprobQuery& query, std::span<const std::uint32_t> rows, std::uint32_t first_position,
               LogprobAnswer& answer);
  PositionLogprobs describe(const LogprobQuery& query, std::uint32_t position, std::span<const float> logits);

  CpuRuntime runtime_;
  LoadedModel model_;
  KvArena arena_;
  std::uint32_t chunk_;
  std::vector<std::uint32_t> blocks_;
  std::vector<std::uint32_t> wanted_;  // positions whose logits are wanted, ascending
  DecoderWorkspace workspace_;
  AlignedBuffer logits_;
  std::vector<Candidate> candidates_;
};

}  // namespace takt
