// The angles of rotary position embedding: theta(position, pair) = position * frequency[pair], with every kind of
// context stretching folded into the frequencies and one magnitude for the rotated values.
#pragma once

#include <span>
#include <vector>

#include "model/hyperparameters.h"

namespace takt {

struct RopeFrequencies {
  std::vector<double> frequency;  // one per rotated pair
  float magnitude = 1.0F;         // factor on cos and sin
};

// `factors`: divisors per pair as files of the Llama 3 family have them (rope_freqs.weight), or empty.
// Linear: Chen et al., arXiv:2306.15595. YaRN: Peng et al., arXiv:2309.00071, section 3.
RopeFrequencies make_rope_frequencies(const Hyperparameters& hyperparameters, std::span<const float> factors);

}  // namespace takt
