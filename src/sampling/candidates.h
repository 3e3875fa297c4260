// The tokens that are still in the running, and the filters that thin them out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"
#include "core/sampling_params.h"
#include "kernels/kernel_table.h"

namespace takt {

struct Candidate {
  float logit = 0.0F;
  TokenId token = 0;
  float rank = 0.0F;  // what a filter sorts by, ascending
};

// Higher logit first, equal ones by lower id: a total order.
bool better(const Candidate& a, const Candidate& b);

// Fills `out` with the `count` best tokens, best first. One pass; the rest of the vocabulary is not sorted.
void select_best(std::span<const float> logits, std::size_t count, std::vector<Candidate>& out);

// Top-k, typical, top-p and min-p of `params`, in this order, over a whole vocabulary. `out` holds what is left, at
// least one, in no order that matters. Logits hold no NaN and at least one is above -infinity; tokens at -infinity
// never remain.
void filter(std::span<const float> logits, const SamplingParams& params, const KernelTable& kernels,
            std::vector<Candidate>& out);

// True when `params` let every token pass.
bool passes_all(const SamplingParams& params);

}  // namespace takt
