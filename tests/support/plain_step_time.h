// A step-time model of three plain terms that learns nothing.
#pragma once

#include "core/step_time_model.h"

namespace takt::testing {

class PlainStepTime final : public StepTimeModel {
 public:
  Duration predict(const StepFeatures& f) const override {
    if (f.tokens == 0) return per_swapped * f.swapped_blocks;
    return per_swapped * f.swapped_blocks + per_step + per_token * f.tokens +
           Duration(static_cast<std::int64_t>(per_attended_ns * static_cast<double>(f.attended_positions)));
  }
  void observe(const StepFeatures&, Duration) override {}
  Duration error_quantile(double) const override { return Duration::zero(); }

  Duration per_step = std::chrono::milliseconds(1);
  Duration per_token = std::chrono::milliseconds(1);
  double per_attended_ns = 0;
  Duration per_swapped{0};
};

}  // namespace takt::testing
