// How the next token is chosen. A neutral value switches a processor off.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.h"

namespace takt {

struct LogitBias {
  TokenId token = 0;
  float bias = 0.0F;  // added to the raw logit; -100 and below bans the token
};

struct SamplingParams {
  float temperature = 1.0F;         // 0: greedy
  std::int32_t top_k = 0;           // 0: off
  float top_p = 1.0F;               // 1: off
  float min_p = 0.0F;               // 0: off
  float typical_p = 1.0F;           // 1: off
  float repetition_penalty = 1.0F;  // 1: off
  float presence_penalty = 0.0F;
  float frequency_penalty = 0.0F;
  std::int32_t penalty_last_n = 64;  // tokens looked back on by the penalties; 0: off, -1: the whole context
  bool penalize_prompt = true;       // prompt tokens count for the penalties
  std::vector<LogitBias> logit_bias;
  std::uint64_t seed = 0;          // always set before the engine sees it
  std::int32_t top_logprobs = -1;  // -1: no logprobs; 0: the chosen token's only; k: and the k best
};

}  // namespace takt
