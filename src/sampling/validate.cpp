#include "sampling/validate.h"

#include <array>
#include <sstream>
#include <string>

#include "core/sampling_limits.h"

namespace takt {
namespace {

// In floats, as parameters are: what JSON says may lie a rounding beside.
struct Range {
  const char* field;
  float value;
  double lowest;
  double highest;

  bool holds() const { return value >= static_cast<float>(lowest) && value <= static_cast<float>(highest); }
};

Error out_of_range(const std::string& field, float value, double lowest, double highest) {
  std::ostringstream message;
  message << "'" << field << "' must be from " << lowest << " to " << highest << ", not " << value;
  return Error::invalid(field, message.str());
}

}  // namespace

Status validate(const SamplingParams& params) {
  using Limits = SamplingLimits;
  const std::array<Range, 7> ranges{{
      {"temperature", params.temperature, 0.0, Limits::kMaxTemperature},
      {"top_p", params.top_p, 0.0, 1.0},
      {"min_p", params.min_p, 0.0, 1.0},
      {"typical_p", params.typical_p, Limits::kMinTypicalP, 1.0},
      {"repetition_penalty", params.repetition_penalty, Limits::kMinRepetitionPenalty, Limits::kMaxRepetitionPenalty},
      {"presence_penalty", params.presence_penalty, -Limits::kMaxPenalty, Limits::kMaxPenalty},
      {"frequency_penalty", params.frequency_penalty, -Limits::kMaxPenalty, Limits::kMaxPenalty},
  }};
  for (const Range& range : ranges) {
    if (!range.holds()) {
      return out_of_range(range.field, range.value, range.lowest, range.highest);
    }
  }
  if (params.top_k < 0) return Error::invalid("top_k", "'top_k' must be 0 (off) or more");
  if (params.penalty_last_n < -1) {
    return Error::invalid("repeat_last_n", "'repeat_last_n' must be -1 (the whole context), 0 (off) or more");
  }
  if (params.top_logprobs < -1 || params.top_logprobs > Limits::kMaxTopLogprobs) {
    return Error::invalid("top_logprobs",
                          "'top_logprobs' must be from 0 to " + std::to_string(Limits::kMaxTopLogprobs));
  }
  if (params.logit_bias.size() > Limits::kMaxBiases) {
    return Error::invalid("logit_bias",
                          "'logit_bias' has more than " + std::to_string(Limits::kMaxBiases) + " entries");
  }
  for (const LogitBias& bias : params.logit_bias) {
    if (!Range{"logit_bias", bias.bias, -Limits::kMaxBias, Limits::kMaxBias}.holds()) {
      return out_of_range("logit_bias", bias.bias, -Limits::kMaxBias, Limits::kMaxBias);
    }
    if (bias.token < 0) return Error::invalid("logit_bias", "'logit_bias' has a negative token id");
  }
  return {};
}

}  // namespace takt
