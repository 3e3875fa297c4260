// A histogram over fixed bucket bounds; a plain value, cheap to copy.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace takt::metrics {

class Histogram {
 public:
  static constexpr std::size_t kMaxBounds = 20;

  // Upper bounds, ascending, at most kMaxBounds, that outlive the histogram.
  explicit constexpr Histogram(std::span<const double> bounds)
      : bounds_(bounds.first(std::min(bounds.size(), kMaxBounds))) {}

  // The bucket that it fell into.
  std::size_t observe(double value) {
    const auto bucket =
        static_cast<std::size_t>(std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin());
    ++counts_[bucket];
    ++count_;
    sum_ += value;
    return bucket;
  }

  // Of the same bounds.
  void merge(const Histogram& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
    sum_ += other.sum_;
  }

  std::span<const double> bounds() const { return bounds_; }
  // Values at most bounds()[i] and above the bound before; index bounds().size() holds the rest.
  std::uint64_t in_bucket(std::size_t i) const { return counts_[i]; }
  std::uint64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  std::span<const double> bounds_;
  std::array<std::uint64_t, kMaxBounds + 1> counts_{};
  std::uint64_t count_ = 0;
  double sum_ = 0.0;
};

}  // namespace takt::metrics
