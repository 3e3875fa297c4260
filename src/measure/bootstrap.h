// How sure a figure is: circular block bootstrap (Politis and Romano, "A circular block-resampling procedure for
// stationary data", 1992). Requests that follow each other share the server's state, so neighbours are drawn together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace takt::measure {

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

struct BootstrapOptions {
  std::uint64_t seed = 1;     // the same seed and samples give the same interval
  std::size_t resamples = 0;  // 0: 1000, or 200 beyond 10,000 samples
  std::size_t block = 0;      // 0: the cube root of the number of samples, rounded up
};

// `values` in the order of time. Entry k holds the quantile `p[k]` of each resample; without samples all are empty.
std::vector<std::vector<double>> bootstrap_quantiles(std::span<const double> values, std::span<const double> p,
                                                     const BootstrapOptions& options = {});
std::vector<double> bootstrap_means(std::span<const double> values, const BootstrapOptions& options = {});
// The sum of the first by the sum of the second of what each resample draws; as many of one as of the other. A resample
// whose second sum is not above 0 is left out.
std::vector<double> bootstrap_ratios(std::span<const double> above, std::span<const double> below,
                                     const BootstrapOptions& options = {});

// The middle `confidence` of the figures of resamples; they need not be sorted. At least one.
Interval middle(std::vector<double> figures, double confidence = 0.95);

// Of a quantile of values that come in groups (gaps of answers): the share of values that are at most the p-th quantile
// varies between groups. Half the width of the 95 % interval of that share; the values at p less and p more than that
// bound the quantile (Woodruff, "Confidence intervals for medians and other position measures", 1952). `below[i]` of
// `counts[i]` values of group i are at most the quantile. 1 where there are fewer than two groups: nothing is known.
double grouped_share_half_width(double p, std::span<const std::uint32_t> below, std::span<const std::uint32_t> counts);

}  // namespace takt::measure
