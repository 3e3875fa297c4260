// From a row of logits to a token: a pure function of (raw logits, parameters, history, seed, position).
//
// Order (docs/sampling.md): ban end tokens, logit bias, penalties; at temperature 0 the best token; else top-k,
// typical, top-p, min-p, temperature, draw by uniform01(seed, position). Threads and instruction sets never change a
// result: exp and log are the kernels', sums have a fixed order, every sort has a total order (higher logit first, then
// lower id).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "core/sampling_params.h"
#include "core/step.h"
#include "kernels/kernel_table.h"
#include "kernels/row_best.h"
#include "sampling/candidates.h"

namespace takt {

// Memory that a thread reuses from row to row: it grows to the vocabulary once. Its content means nothing between
// calls.
struct SamplerScratch {
  std::vector<float> logits;   // the row after bans, biases and penalties
  std::vector<float> weights;  // exp of it
  std::vector<Candidate> candidates;
  std::vector<std::uint32_t> token_counts;  // per vocabulary entry, all zero between calls
  std::vector<TokenId> counted;             // the entries that are not
};

struct LogitsRow {
  std::span<const float> logits;  // one per vocabulary entry; -infinity is allowed
  std::uint32_t position = 0;     // of the row: the sampled token will stand at position + 1
  bool suppress_end_tokens = false;
};

// What sampling keeps of one sequence. `sample` may run in any thread, one call per state at a time.
class SamplerState {
 public:
  // `params` passed validate(). `known_tokens` stand at positions 0, 1, ...; the first `prompt_tokens` of them are the
  // prompt. Tokens outside the vocabulary of a later row (biases, end tokens, history) are passed over.
  SamplerState(SamplingParams params, std::vector<TokenId> end_tokens, std::span<const TokenId> known_tokens,
               std::uint32_t prompt_tokens);

  // Tokens that stand at first_position, first_position + 1, ... Those already known change nothing. There may be no
  // gap: what lies beyond the next position is passed over.
  void feed(std::uint32_t first_position, std::span<const TokenId> tokens);

  // The history is what was fed at positions up to row.position. The logprobs are of the raw logits.
  // Errors: kInternal, when a logit is NaN or +infinity or no token is left: this sequence can't go on, others are not
  // touched.
  Result<SampledToken> sample(const LogitsRow& row, const KernelTable& kernels, SamplerScratch& scratch) const;

  // Whether sample() of this row would need no more of its logits than the largest: greedy, nothing to add or ban, no
  // logprobs. Then sample_best() of it gives the same.
  bool wants_best_only(bool suppress_end_tokens) const {
    return params_.temperature <= 0.0F && params_.top_logprobs < 0 && !changes_logits(suppress_end_tokens);
  }
  static Result<SampledToken> sample_best(const RowBest& best);

  const SamplingParams& params() const { return params_; }

 private:
  bool changes_logits(bool suppress_end_tokens) const;
  std::span<const TokenId> penalized_history(std::uint32_t position) const;
  void apply_penalties(std::span<const TokenId> history, SamplerScratch& scratch) const;
  std::span<const float> processed_logits(const LogitsRow& row, SamplerScratch& scratch) const;
  TokenId choose(std::span<const float> logits, std::uint32_t position, const KernelTable& kernels,
                 SamplerScratch& scratch) const;

  SamplingParams params_;
  std::vector<TokenId> end_tokens_;
  std::vector<TokenId> history_;  // from position 0; empty where nothing is penalized
  std::uint32_t prompt_tokens_ = 0;
  bool penalizes_ = false;
};

}  // namespace takt
