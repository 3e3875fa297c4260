#include "trace/draws.h"

#include <cmath>
#include <numbers>

#include "base/random.h"
#include "trace/mix.h"

namespace takt::trace {
namespace {

double open_uniform(std::uint64_t key, std::uint64_t counter) {
  constexpr double kHalfAStep = 0x1.0p-54;
  return uniform01(key, counter) + kHalfAStep;
}

double normal_of(std::uint64_t key, std::uint64_t counter) {
  return std::sqrt(-2.0 * std::log(open_uniform(key, counter))) *
         std::cos(2.0 * std::numbers::pi * uniform01(key, counter + 1));
}

// Shape at least 1; counters of `key` from 0.
double large_shape_gamma(std::uint64_t key, double shape) {
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (std::uint64_t counter = 0;; counter += 3) {
    const double x = normal_of(key, counter);
    const double root = 1.0 + c * x;
    if (root <= 0.0) continue;
    const double v = root * root * root;
    if (std::log(open_uniform(key, counter + 2)) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

}  // namespace

double draw_uniform(std::uint64_t key, std::uint64_t index) {
  return open_uniform(key, index);
}

double draw_exponential(std::uint64_t key, std::uint64_t index) {
  return -std::log(open_uniform(key, index));
}

double draw_normal(std::uint64_t key, std::uint64_t index) {
  return normal_of(mix(key, index), 0);
}

double draw_gamma(std::uint64_t key, std::uint64_t index, double shape) {
  if (std::isinf(shape)) return 1.0;
  if (shape == 1.0) return draw_exponential(key, index);
  const std::uint64_t own = mix(key, index);
  if (shape > 1.0) return large_shape_gamma(own, shape) / shape;
  // Of the next larger shape, pulled down by a power of another uniform.
  const double boost = std::exp(std::log(open_uniform(mix(own, 1), 0)) / shape);
  return large_shape_gamma(own, shape + 1.0) * boost / shape;
}

}  // namespace takt::trace
