// Moments of samples.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace takt::trace {

struct Moments {
  double mean = 0.0;
  double cv = 0.0;  // deviation by mean
};

inline Moments moments(const std::vector<double>& samples) {
  double sum = 0.0;
  for (const double sample : samples) sum += sample;
  const double mean = sum / static_cast<double>(samples.size());
  double squares = 0.0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return {mean, std::sqrt(squares / static_cast<double>(samples.size())) / mean};
}

// Largest distance between the samples' distribution and a distribution function (Kolmogorov and Smirnov).
template <typename Function>
double largest_distance(std::vector<double> samples, Function distribution) {
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<double>(samples.size());
  double most = 0.0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double expected = distribution(samples[i]);
    most = std::max({most, std::abs(expected - static_cast<double>(i) / count),
                     std::abs(expected - static_cast<double>(i + 1) / count)});
  }
  return most;
}

}  // namespace takt::trace
