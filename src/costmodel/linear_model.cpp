#include "costmodel/linear_model.h"

#include <algorithm>
#include <cmath>

namespace takt {

namespace {

constexpr double kMaxChange = 0.02;  // of a term, per observation
constexpr double kRate = 0.1;
// Terms stay above a floor so that one that the warm-up could not see can still grow, and below a ceiling that keeps
// every prediction finite.
constexpr double kFloor = 1e-12;
constexpr double kCeiling = 1e3;
constexpr double kLongestStep = 1e6;  // seconds

double bounded(double term) {
  return std::isfinite(term) ? std::clamp(term, kFloor, kCeiling) : kFloor;
}

}  // namespace

LinearStepTimeModel::LinearStepTimeModel(const StepTimeTerms& terms)
    : terms_{bounded(terms.per_step), bounded(terms.per_token), bounded(terms.per_attended),
             bounded(terms.per_swapped)} {}

Duration LinearStepTimeModel::predict(const StepFeatures& features) const {
  if (features.tokens == 0 && features.swapped_blocks == 0) return Duration::zero();
  return from_seconds(std::min(terms_.seconds(features), kLongestStep));
}

void LinearStepTimeModel::observe(const StepFeatures& features, Duration measured) {
  if (features.tokens == 0 || measured <= Duration::zero()) return;
  const double predicted = terms_.seconds(features);
  const double error = to_seconds(measured) - predicted;
  recent_errors_[observed_++ % kRecent] = std::abs(error);

  const std::array<double, 4> share = {
      terms_.per_step / predicted, terms_.per_token * features.tokens / predicted,
      terms_.per_attended * static_cast<double>(features.attended_positions) / predicted,
      terms_.per_swapped * features.swapped_blocks / predicted};
  const double norm = share[0] * share[0] + share[1] * share[1] + share[2] * share[2] + share[3] * share[3];
  const double relative = error / predicted;
  const auto corrected = [&](double term, double term_share) {
    const double change = std::clamp(kRate * relative * term_share / norm, -kMaxChange, kMaxChange);
    return bounded(term * (1 + change));
  };
  terms_ = {corrected(terms_.per_step, share[0]), corrected(terms_.per_token, share[1]),
            corrected(terms_.per_attended, share[2]), corrected(terms_.per_swapped, share[3])};
}

Duration LinearStepTimeModel::error_quantile(double p) const {
  const std::size_t n = std::min(observed_, kRecent);
  if (n == 0) return Duration::zero();
  auto errors = recent_errors_;
  const auto nth = static_cast<std::size_t>(std::clamp(p, 0.0, 1.0) * static_cast<double>(n - 1));
  std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(nth),
                   errors.begin() + static_cast<std::ptrdiff_t>(n));
  return from_seconds(errors[nth]);
}

}  // namespace takt
