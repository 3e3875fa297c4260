#include "sampling/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/random.h"
#include "sampling/draw.h"
#include "sampling/logprobs.h"

namespace takt {
namespace {

constexpr float kBanned = -std::numeric_limits<float>::infinity();
constexpr float kBanningBias = -100.0F;
constexpr std::size_t kHistoryReserve = 1024;  // tokens that come without an allocation

bool inside(TokenId token, std::size_t vocabulary) {
  return token >= 0 && static_cast<std::size_t>(token) < vocabulary;
}

// weights = exp((logits - most) / temperature)
void weigh(std::span<const float> logits, float most, float temperature, const KernelTable& kernels,
           std::vector<float>& weights) {
  weights.resize(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) weights[i] = (logits[i] - most) / temperature;
  kernels.exp(weights.data(), weights.size(), weights.data());
}

std::size_t first_index_of(std::span<const float> values, float wanted) {
  return static_cast<std::size_t>(std::find(values.begin(), values.end(), wanted) - values.begin());
}

}  // namespace

SamplerState::SamplerState(SamplingParams params, std::vector<TokenId> end_tokens,
                           std::span<const TokenId> known_tokens, std::uint32_t prompt_tokens)
    : params_(std::move(params)), end_tokens_(std::move(end_tokens)), prompt_tokens_(prompt_tokens) {
  penalizes_ = params_.penalty_last_n != 0 && (params_.repetition_penalty != 1.0F || params_.presence_penalty != 0.0F ||
                                               params_.frequency_penalty != 0.0F);
  if (penalizes_) {
    history_.reserve(known_tokens.size() + kHistoryReserve);
    history_.assign(known_tokens.begin(), known_tokens.end());
  }
}

void SamplerState::feed(std::uint32_t first_position, std::span<const TokenId> tokens) {
  if (!penalizes_ || first_position > history_.size()) return;
  const std::size_t known = history_.size() - first_position;
  if (known < tokens.size()) {
    history_.insert(history_.end(), tokens.begin() + static_cast<std::ptrdiff_t>(known), tokens.end());
  }
}

Result<SampledToken> SamplerState::sample(const LogitsRow& row, const KernelTable& kernels,
                                          SamplerScratch& scratch) const {
  if (Status status = check_logits(row.logits); !status) return status.error();
  const std::span<const float> logits = processed_logits(row, scratch);
  const float most = kernels.max(logits.data(), logits.size());
  if (!std::isfinite(most)) {
    return Error::invalid("logit_bias", "no token is left to sample: bans and biases exclude all");
  }

  SampledToken sampled;
  sampled.token = choose(logits, row.position, kernels, scratch);
  if (params_.top_logprobs >= 0) {
    const float normalizer = log_normalizer(kernels, row.logits);
    sampled.logprob = logprob_of(row.logits, normalizer, sampled.token);
    sampled.top =
        top_logprobs(row.logits, normalizer, static_cast<std::size_t>(params_.top_logprobs), scratch.candidates);
  }
  return sampled;
}

Result<SampledToken> SamplerState::sample_best(const RowBest& best) {
  if (Status status = check_best(best); !status) return status.error();
  SampledToken sampled;
  sampled.token = static_cast<TokenId>(best.column());
  return sampled;
}

bool SamplerState::changes_logits(bool suppress_end_tokens) const {
  return penalizes_ || !params_.logit_bias.empty() || (suppress_end_tokens && !end_tokens_.empty());
}

std::span<const TokenId> SamplerState::penalized_history(std::uint32_t position) const {
  const std::size_t end = std::min<std::size_t>(history_.size(), static_cast<std::size_t>(position) + 1);
  std::size_t begin = params_.penalize_prompt ? 0 : std::min<std::size_t>(prompt_tokens_, end);
  if (params_.penalty_last_n > 0) {
    const auto window = static_cast<std::size_t>(params_.penalty_last_n);
    begin = std::max(begin, end - std::min(end, window));
  }
  return std::span(history_).subspan(begin, end - begin);
}

// Keskar et al., "CTRL", section 4.1 (repetition, with the sign taken into account); OpenAI's API reference (presence
// and frequency).
void SamplerState::apply_penalties(std::span<const TokenId> history, SamplerScratch& scratch) const {
  std::vector<float>& logits = scratch.logits;
  if (scratch.token_counts.size() < logits.size()) scratch.token_counts.resize(logits.size(), 0);
  scratch.counted.clear();
  for (const TokenId token : history) {
    if (inside(token, logits.size()) && scratch.token_counts[static_cast<std::size_t>(token)]++ == 0) {
      scratch.counted.push_back(token);
    }
  }
  for (const TokenId token : scratch.counted) {
    const auto i = static_cast<std::size_t>(token);
    float& logit = logits[i];
    logit = logit > 0.0F ? logit / params_.repetition_penalty : logit * params_.repetition_penalty;
    logit -= static_cast<float>(scratch.token_counts[i]) * params_.frequency_penalty + params_.presence_penalty;
    scratch.token_counts[i] = 0;
  }
}

std::span<const float> SamplerState::processed_logits(const LogitsRow& row, SamplerScratch& scratch) const {
  if (!changes_logits(row.suppress_end_tokens)) return row.logits;
  std::vector<float>& logits = scratch.logits;
  logits.assign(row.logits.begin(), row.logits.end());
  if (row.suppress_end_tokens) {
    for (const TokenId token : end_tokens_) {
      if (inside(token, logits.size())) logits[static_cast<std::size_t>(token)] = kBanned;
    }
  }
  for (const LogitBias& bias : params_.logit_bias) {
    if (!inside(bias.token, logits.size())) continue;
    float& logit = logits[static_cast<std::size_t>(bias.token)];
    logit = bias.bias <= kBanningBias ? kBanned : logit + bias.bias;
  }
  if (penalizes_) apply_penalties(penalized_history(row.position), scratch);
  return logits;
}

TokenId SamplerState::choose(std::span<const float> logits, std::uint32_t position, const KernelTable& kernels,
                             SamplerScratch& scratch) const {
  const float most = kernels.max(logits.data(), logits.size());
  if (params_.temperature <= 0.0F) return static_cast<TokenId>(first_index_of(logits, most));

  const double uniform = uniform01(params_.seed, position);
  if (passes_all(params_)) {
    weigh(logits, most, params_.temperature, kernels, scratch.weights);
    return static_cast<TokenId>(draw(scratch.weights, uniform));
  }
  std::vector<Candidate>& left = scratch.candidates;
  filter(logits, params_, kernels, left);
  std::sort(left.begin(), left.end(), [](const Candidate& a, const Candidate& b) { return a.token < b.token; });
  float best = kBanned;
  for (const Candidate& c : left) best = std::max(best, c.logit);
  scratch.weights.resize(left.size());
  for (std::size_t i = 0; i < left.size(); ++i) scratch.weights[i] = (left[i].logit - best) / params_.temperature;
  kernels.exp(scratch.weights.data(), scratch.weights.size(), scratch.weights.data());
  return left[draw(scratch.weights, uniform)].token;
}

}  // namespace takt
