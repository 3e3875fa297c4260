// Quantiles of what comes in, at any moment and in constant memory: buckets of equal ratio, 2 % wide.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace takt::load {

class LiveHistogram {
 public:
  void add(Duration value) {
    const double steps = std::log(std::max(to_seconds(value), kLeast) / kLeast) / kLogWidth;
    ++buckets_[std::min(static_cast<std::size_t>(steps), buckets_.size() - 1)];
    ++count_;
  }
  // In seconds; empty before the first value.
  std::optional<double> quantile(double p) const {
    if (count_ == 0) return std::nullopt;
    const auto rank = static_cast<std::uint64_t>(p * static_cast<double>(count_ - 1));
    std::uint64_t passed = 0;
    std::size_t at = 0;
    while (passed + buckets_[at] <= rank) passed += buckets_[at++];
    return kLeast * std::exp((static_cast<double>(at) + 0.5) * kLogWidth);
  }
  std::uint64_t count() const { return count_; }

 private:
  static constexpr double kLeast = 1e-6;
  static constexpr double kLogWidth = 0.02;
  std::array<std::uint64_t, 1200> buckets_{};  // up to more than a day
  std::uint64_t count_ = 0;
};

}  // namespace takt::load
