// Log probabilities over the whole vocabulary: log-softmax of raw logits, natural log.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "core/step.h"
#include "kernels/kernel_table.h"
#include "kernels/row_best.h"
#include "sampling/candidates.h"

namespace takt {

// Errors: kInternal when a logit is NaN or +infinity, or all are -infinity.
Status check_logits(std::span<const float> logits);

// The same of a row whose largest value alone was kept.
Status check_best(const RowBest& best);

// log(sum of exp(logits)); logits as check_logits wants them. The same bits on every instruction set.
float log_normalizer(const KernelTable& kernels, std::span<const float> logits);

// Never above 0. `token` is inside the vocabulary.
float logprob_of(std::span<const float> logits, float log_normalizer, TokenId token);

// The `count` most probable tokens (fewer when the vocabulary is smaller), best first, equal ones by lower id.
// `scratch` is reused memory.
std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, float log_normalizer, std::size_t count,
                                       std::vector<Candidate>& scratch);

// A prompt token's logprob and the `top` best (-1 or 0: none) from the row before it. Errors: as check_logits;
// kInvalidArgument when the target is outside the vocabulary.
Result<PromptLogprob> prompt_logprob(std::span<const float> logits, TokenId target, std::int32_t top,
                                     const KernelTable& kernels, std::vector<Candidate>& scratch);

}  // namespace takt
