// Whether a run's load was more than the server could carry: then its latencies say how long the run was, nothing else.
#pragma once

#include <span>

#include "measure/answer_sample.h"

namespace takt::measure {

struct Saturation {
  bool saturated = false;
  double in_flight_growth = 1.0;  // last third of the window over its first third
  double ttft_growth = 1.0;
};

// Saturated: requests in flight AND the time to first token rise over ten equal parts of the window (Mann-Kendall test,
// one-sided, p < 0.05), each to more than one and a half times what it was. Of an open load only: a closed loop cannot
// outrun its server.
Saturation judge_saturation(std::span<const AnswerSample> samples, TimePoint begin, TimePoint end);

}  // namespace takt::measure
