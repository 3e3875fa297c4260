#include "measure/quantile_selector.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace takt::measure {

double QuantileSelector::at_rank(std::size_t rank) {
  const auto above = placed_.lower_bound(rank);
  if (above != placed_.end() && *above == rank) return values_[rank];
  const std::size_t end = above == placed_.end() ? values_.size() : *above;
  const std::size_t begin = above == placed_.begin() ? 0 : *std::prev(above) + 1;
  const auto first = values_.begin();
  std::nth_element(first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(rank),
                   first + static_cast<std::ptrdiff_t>(end));
  placed_.insert(rank);
  return values_[rank];
}

double QuantileSelector::quantile(double p) {
  const double rank = static_cast<double>(values_.size() - 1) * std::clamp(p, 0.0, 1.0);
  const auto below = static_cast<std::size_t>(std::floor(rank));
  const double low = at_rank(below);
  const double weight = rank - static_cast<double>(below);
  return weight == 0.0 ? low : low + weight * (at_rank(below + 1) - low);
}

}  // namespace takt::measure
