// Pearson's test of fit, for draws with fixed seeds.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace takt {

inline double chi_square(const std::vector<std::size_t>& counts, const std::vector<double>& expected,
                         std::size_t draws) {
  double sum = 0.0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double mean = expected[i] * static_cast<double>(draws);
    if (mean == 0.0) {
      if (counts[i] != 0) return INFINITY;
      continue;
    }
    const double difference = static_cast<double>(counts[i]) - mean;
    sum += difference * difference / mean;
  }
  return sum;
}

// The quantile that is passed once in a thousand (Wilson and Hilferty, 1931).
inline double chi_square_limit(std::size_t degrees) {
  const auto n = static_cast<double>(degrees);
  const double root = 1.0 - 2.0 / (9.0 * n) + 3.090 * std::sqrt(2.0 / (9.0 * n));
  return n * root * root * root;
}

}  // namespace takt
