// Predicts how long a step takes from what is in it. Pure: no clock, no I/O.
#pragma once

#include "base/clock.h"
#include "core/step.h"

namespace takt {

class StepTimeModel {
 public:
  virtual ~StepTimeModel() = default;
  virtual Duration predict(const StepFeatures& features) const = 0;
  // Learns from a committed step.
  virtual void observe(const StepFeatures& features, Duration measured) = 0;
};

}  // namespace takt
