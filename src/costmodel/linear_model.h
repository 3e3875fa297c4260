// The step-time model: four terms, measured in a warm-up and corrected by every committed step.
#pragma once

#include <array>
#include <cstddef>

#include "core/step_time_model.h"
#include "costmodel/fit.h"

namespace takt {

// Online correction: the normalised least-mean-squares step on the logarithm of each term (so no term turns negative),
// bounded per observation so that one odd step moves a prediction by 2 % at most. Never predicts anything that is not
// finite.
class LinearStepTimeModel final : public StepTimeModel {
 public:
  explicit LinearStepTimeModel(const StepTimeTerms& terms);

  Duration predict(const StepFeatures& features) const override;
  void observe(const StepFeatures& features, Duration measured) override;
  Duration error_quantile(double p) const override;

  const StepTimeTerms& terms() const { return terms_; }

 private:
  static constexpr std::size_t kRecent = 256;

  StepTimeTerms terms_;
  std::array<double, kRecent> recent_errors_{};  // seconds, a ring
  std::size_t observed_ = 0;
};

}  // namespace takt
