// One request that fell into a bucket of a histogram: the way from a figure to the life of a request behind it.
#pragma once

#include <array>
#include <cstdint>

#include "core/ids.h"
#include "metrics/histogram.h"

namespace takt::metrics {

struct Exemplar {
  bool is_set = false;
  RequestId request;
  double value = 0.0;
};

// By bucket: the last one of each.
using Exemplars = std::array<Exemplar, Histogram::kMaxBounds + 1>;

inline void observe(Histogram& histogram, Exemplars& exemplars, RequestId request, double value) {
  exemplars[histogram.observe(value)] = {true, request, value};
}

}  // namespace takt::metrics
