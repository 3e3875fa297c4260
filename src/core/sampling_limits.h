// The ranges of sampling parameters, inclusive; docs/sampling.md says why.
#pragma once

#include <cstddef>
#include <cstdint>

namespace takt {

struct SamplingLimits {
  static constexpr double kMaxTemperature = 10.0;
  static constexpr double kMaxPenalty = 2.0;             // presence and frequency, either sign
  static constexpr double kMinRepetitionPenalty = 0.01;  // it divides
  static constexpr double kMaxRepetitionPenalty = 10.0;
  static constexpr double kMinTypicalP = 1e-6;  // nothing would be left at 0
  static constexpr double kMaxBias = 100.0;
  static constexpr std::size_t kMaxBiases = 4096;
  static constexpr std::int32_t kMaxTopLogprobs = 20;
};

}  // namespace takt
