#include "measure/percentile.h"

#include <algorithm>
#include <cmath>

namespace takt::measure {

bool percentile_is_reportable(std::size_t samples, double p) {
  // 1 - p is not exact in binary: 1000 samples must do for p = 0.99.
  constexpr double kRounding = 1e-9;
  return static_cast<double>(samples) * (1.0 - p) >= 10.0 - kRounding;
}

std::optional<double> percentile(std::span<const double> sorted, double p) {
  if (sorted.empty() || !(p >= 0.0 && p <= 1.0)) return std::nullopt;
  const double rank = static_cast<double>(sorted.size() - 1) * p;
  const auto below = static_cast<std::size_t>(std::floor(rank));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double weight = rank - static_cast<double>(below);
  return sorted[below] + weight * (sorted[above] - sorted[below]);
}

std::optional<double> reported_percentile(std::span<const double> sorted, double p) {
  if (!percentile_is_reportable(sorted.size(), p)) return std::nullopt;
  return percentile(sorted, p);
}

}  // namespace takt::measure
