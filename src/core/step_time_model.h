// Predicts how long a step takes from what is in it. Pure: no clock, no I/O.
#pragma once

#include "base/clock.h"
#include "core/step.h"

namespace takt {

class StepTimeModel {
 public:
  virtual ~StepTimeModel() = default;
  // Grows with every feature. Finite; zero for a step without tokens that copies no blocks, and never more for a step
  // without tokens than its copies take.
  virtual Duration predict(const StepFeatures& features) const = 0;
  // Learns from a committed step.
  virtual void observe(const StepFeatures& features, Duration measured) = 0;
  // |measured - predicted| of recent steps at quantile p; zero before the first.
  virtual Duration error_quantile(double p) const = 0;
};

}  // namespace takt
