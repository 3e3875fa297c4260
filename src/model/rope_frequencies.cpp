#include "model/rope_frequencies.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/math.h"
#include "kernels/rows.h"

namespace takt {
namespace {

// The pair (as a fraction of all dimensions) that turns `rotations` times over the original context.
double correction_dimension(const Hyperparameters& h, double rotations) {
  const double dimensions = h.rope_dimensions;
  return dimensions * log_f64(h.rope_scaling.original_context / (rotations * 2.0 * std::numbers::pi)) /
         (2.0 * log_f64(h.rope_base));
}

}  // namespace

RopeFrequencies make_rope_frequencies(const Hyperparameters& h, std::span<const float> factors) {
  const RopeScaling& scaling = h.rope_scaling;
  const std::size_t pairs = h.rope_dimensions / 2;
  RopeFrequencies out;
  out.frequency.resize(pairs);
  const double interpolation = scaling.kind == RopeScalingKind::kNone ? 1.0 : 1.0 / scaling.factor;
  const double low = std::max(0.0, std::floor(correction_dimension(h, scaling.beta_fast)));
  const double high = std::min(h.rope_dimensions - 1.0, std::ceil(correction_dimension(h, scaling.beta_slow)));
  for (std::size_t i = 0; i < pairs; ++i) {
    double frequency = rope_frequency(h.rope_base, i, h.rope_dimensions);
    if (!factors.empty()) frequency /= factors[i];
    double stretch = interpolation;
    if (scaling.kind == RopeScalingKind::kYarn) {
      // 1: the pair turns often and is left as it is; 0: it is interpolated.
      const double ramp = std::clamp((static_cast<double>(i) - low) / std::max(0.001, high - low), 0.0, 1.0);
      stretch = interpolation * ramp + (1.0 - ramp);
    }
    out.frequency[i] = frequency * stretch;
  }
  if (scaling.kind == RopeScalingKind::kYarn) {
    const double stretched = scaling.factor > 1.0F ? 1.0 + 0.1 * log_f64(scaling.factor) : 1.0;
    out.magnitude = static_cast<float>(stretched * scaling.attention_factor);
  }
  return out;
}

}  // namespace takt
