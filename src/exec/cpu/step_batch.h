// A bound step as the model sees it: one row per scheduled token, sequence after sequence, and which rows want logits.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "core/step.h"
#include "model/decoder.h"

namespace takt {

// A row whose logits are wanted, for sampling or for the logprob of a prompt token.
struct LogitRow {
  std::uint32_t row = 0;  // of the step
  std::uint32_t entry = 0;
  TokenId target = -1;  // prompt token to score; -1: sample
};

struct StepLimits {
  std::uint32_t vocabulary = 0;
  std::uint32_t context_tokens = 0;
  std::uint32_t rows = 0;
  std::uint32_t blocks = 0;
  std::uint32_t block_tokens = 0;
};

// Reused from step to step; keeps its memory.
class StepBatch {
 public:
  // Errors (kInternal): an entry that does not keep to the limits, named by its sequence. Spans of the step must live
  // as long as rows() is used.
  Status assign(const BoundStep& step, const StepLimits& limits);

  StepRows rows() const { return {tokens_, positions_, sequences_}; }
  const std::vector<LogitRow>& logit_rows() const { return logit_rows_; }

 private:
  void append(const BoundEntry& entry, std::uint32_t index);

  std::vector<TokenId> tokens_;
  std::vector<std::uint32_t> positions_;
  std::vector<std::uint32_t> blocks_;  // all tables, one after the other
  std::vector<AttentionRows> sequences_;
  std::vector<LogitRow> logit_rows_;
};

}  // namespace takt
