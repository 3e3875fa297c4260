// Speeds of an executor that is driven without an engine: what batching can have of a model on this machine at most
// (bench/decode, bench/prefill, `takt inspect --bench`).
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"
#include "exec/executor.h"

namespace takt {

struct DecodeLoad {
  std::uint32_t streams = 1;
  std::uint32_t context_tokens = 64;  // that each stream has in its KV blocks before the first measured step
  std::uint32_t steps = 48;           // of one token per stream
};

struct PrefillLoad {
  std::uint32_t tokens = 512;
  std::uint32_t chunk_tokens = 512;
};

struct StepLoad {
  std::uint32_t position = 0;  // of its first token
  std::uint32_t tokens = 1;    // a single one is sampled
};

class SpeedProbe {
 public:
  // `executor` outlives the probe and has no open sequences; what its KV blocks hold is overwritten.
  explicit SpeedProbe(Executor& executor) : executor_(executor) {}

  // Tokens per second of all streams together: the best of `rounds`, since another program can only slow one down.
  // Errors: kInvalidArgument (0, or above the executor's sequences, context or rows of a step), kResourceExhausted (too
  // few KV blocks), and those of a step.
  Result<double> decode(const DecodeLoad& load, int rounds);

  // Prompt tokens per second of one prompt, whose last row is sampled. Errors as of decode().
  Result<double> prefill(const PrefillLoad& load, int rounds);

  // How long one step of one stream takes. Errors as of decode().
  Result<Duration> step(const StepLoad& load);

 private:
  class Streams;
  using Round = std::function<Result<Duration>(Streams&)>;
  Result<Duration> best_round(std::uint32_t streams, std::uint32_t tokens_each, int rounds, const Round& round);
  // Values as ordinary ones: pages that were never written would all be one page of the cache.
  Status fill_blocks(std::uint32_t count);

  Executor& executor_;
  std::uint32_t filled_blocks_ = 0;
};

}  // namespace takt
