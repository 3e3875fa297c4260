// Quantiles of many values without sorting them all: each new rank is selected between those that stand already.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

namespace takt::measure {

class QuantileSelector {
 public:
  // At least one value.
  explicit QuantileSelector(std::vector<double> values) : values_(std::move(values)) {}

  // As percentile() of the sorted values (percentile.h); p is kept within 0 and 1.
  double quantile(double p);
  std::size_t size() const { return values_.size(); }

 private:
  double at_rank(std::size_t rank);

  std::vector<double> values_;
  std::set<std::size_t> placed_;  // ranks whose value stands where it would when sorted
};

}  // namespace takt::measure
