// The ranges of sampling parameters.
#pragma once

#include "base/result.h"
#include "core/sampling_params.h"

namespace takt {

// The limits, inclusive; docs/sampling.md says why.
struct SamplingLimits {
  static constexpr float kMaxTemperature = 10.0F;
  static constexpr float kMaxPenalty = 2.0F;  // presence and frequency, either sign
  static constexpr float kMinRepetitionPenalty = 0.01F;
  static constexpr float kMaxRepetitionPenalty = 10.0F;
  static constexpr float kMinTypicalP = 1e-6F;
  static constexpr float kMaxBias = 100.0F;
  static constexpr std::size_t kMaxBiases = 4096;
  static constexpr std::int32_t kMaxTopLogprobs = 20;
};

// Errors (kInvalidArgument): the field is named as in the API; the message states the range. A value that is no number
// is out of every range.
Status validate(const SamplingParams& params);

}  // namespace takt
