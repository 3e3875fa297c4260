#include "sampling/logprobs.h"

#include <algorithm>
#include <limits>
#include <string>

#include "kernels/math.h"

namespace takt {
namespace {

Status logits_status(bool spoilt, bool found) {
  if (spoilt) return Error::internal("the model gave a logit that is no finite number");
  if (!found) return Error::internal("the model gave no token a probability");
  return {};
}

}  // namespace

Status check_best(const RowBest& best) {
  return logits_status(best.spoilt(), best.found());
}

Status check_logits(std::span<const float> logits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  int bad = 0;
  int above = 0;
  for (const float logit : logits) {
    bad |= static_cast<int>(!(logit < kInfinity));
    above |= static_cast<int>(logit > -kInfinity);
  }
  return logits_status(bad != 0, above != 0);
}

float log_normalizer(const KernelTable& kernels, std::span<const float> logits) {
  const float most = kernels.max(logits.data(), logits.size());
  return most + log_f32(kernels.exp_sum(logits.data(), logits.size(), most, nullptr));
}

float logprob_of(std::span<const float> logits, float log_normalizer, TokenId token) {
  return std::min(0.0F, logits[static_cast<std::size_t>(token)] - log_normalizer);
}

std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, float log_normalizer, std::size_t count,
                                       std::vector<Candidate>& scratch) {
  std::vector<TokenLogprob> top;
  if (count == 0) return top;
  select_best(logits, std::min(count, logits.size()), scratch);
  top.reserve(scratch.size());
  for (const Candidate& c : scratch) top.push_back({c.token, logprob_of(logits, log_normalizer, c.token)});
  return top;
}

Result<PromptLogprob> prompt_logprob(std::span<const float> logits, TokenId target, std::int32_t top,
                                     const KernelTable& kernels, std::vector<Candidate>& scratch) {
  if (Status status = check_logits(logits); !status) return status.error();
  if (target < 0 || static_cast<std::size_t>(target) >= logits.size()) {
    return Error::invalid(
        "prompt", "token " + std::to_string(target) + " is outside the vocabulary of " + std::to_string(logits.size()));
  }
  const float normalizer = log_normalizer(kernels, logits);
  return PromptLogprob{target, logprob_of(logits, normalizer, target),
                       top_logprobs(logits, normalizer, static_cast<std::size_t>(std::max(top, 0)), scratch)};
}

}  // namespace takt
