// Fits the terms of the step-time model to measured steps.
#pragma once

#include <span>

#include "base/clock.h"
#include "core/step.h"

namespace takt {

// Seconds. t = per_step + per_token * tokens + per_attended * attended positions + per_swapped * swapped blocks, where
// the first three terms are 0 for a step without tokens.
struct StepTimeTerms {
  double per_step = 0.0;
  double per_token = 0.0;
  double per_attended = 0.0;
  double per_swapped = 0.0;

  double seconds(const StepFeatures& features) const {
    const double copies = per_swapped * features.swapped_blocks;
    if (features.tokens == 0) return copies;
    return per_step + per_token * features.tokens + per_attended * static_cast<double>(features.attended_positions) +
           copies;
  }
};

struct StepSample {
  StepFeatures features;
  Duration measured{0};
};

// Least squares of the relative error with no term below 0: of all subsets of terms, the best one whose solution has
// none below (exact for three terms). Steps that copy blocks are none: that term is measured by itself, and 0 here.
// Samples that are not positive are left out; without any, all terms are 0.
StepTimeTerms fit_step_time(std::span<const StepSample> samples);

}  // namespace takt
