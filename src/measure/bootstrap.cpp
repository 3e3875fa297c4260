#include "measure/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "measure/percentile.h"

namespace takt::measure {
namespace {

constexpr double kNormal95 = 1.959964;

BootstrapOptions with_defaults(BootstrapOptions options, std::size_t samples) {
  if (options.resamples == 0) options.resamples = samples > 10'000 ? 200 : 1000;
  if (options.block == 0) options.block = static_cast<std::size_t>(std::ceil(std::cbrt(static_cast<double>(samples))));
  return options;
}

// How often each sample is drawn in resample number `resample`.
void draw_weights(std::vector<std::uint32_t>& weights, const BootstrapOptions& options, std::size_t resample) {
  std::fill(weights.begin(), weights.end(), 0U);
  const std::size_t samples = weights.size();
  std::uint64_t draw = static_cast<std::uint64_t>(resample) << 32U;
  for (std::size_t drawn = 0; drawn < samples;) {
    auto at = static_cast<std::size_t>(uniform01(options.seed, draw++) * static_cast<double>(samples));
    for (std::size_t i = 0; i < options.block && drawn < samples; ++i, ++drawn) {
      if (at >= samples) at = 0;
      ++weights[at++];
    }
  }
}

}  // namespace

std::vector<std::vector<double>> bootstrap_quantiles(std::span<const double> values, std::span<const double> p,
                                                     const BootstrapOptions& given) {
  std::vector<std::vector<double>> figures(p.size());
  if (values.empty()) return figures;
  const auto options = with_defaults(given, values.size());
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return values[a] < values[b]; });
  std::vector<std::size_t> by_rank(p.size());
  std::iota(by_rank.begin(), by_rank.end(), std::size_t{0});
  std::sort(by_rank.begin(), by_rank.end(), [&](auto a, auto b) { return p[a] < p[b]; });
  std::vector<std::uint32_t> weights(values.size());
  for (std::size_t r = 0; r < options.resamples; ++r) {
    draw_weights(weights, options, r);
    std::size_t passed = 0;
    std::size_t at = 0;
    for (const auto which : by_rank) {
      const auto rank = static_cast<std::size_t>(std::lround(p[which] * static_cast<double>(values.size() - 1)));
      while (passed + weights[order[at]] <= rank) passed += weights[order[at++]];
      figures[which].push_back(values[order[at]]);
    }
  }
  return figures;
}

std::vector<double> bootstrap_means(std::span<const double> values, const BootstrapOptions& given) {
  std::vector<double> figures;
  if (values.empty()) return figures;
  const auto options = with_defaults(given, values.size());
  std::vector<std::uint32_t> weights(values.size());
  for (std::size_t r = 0; r < options.resamples; ++r) {
    draw_weights(weights, options, r);
    double sum = 0.0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[i] * weights[i];
    figures.push_back(sum / static_cast<double>(values.size()));
  }
  return figures;
}

std::vector<double> bootstrap_ratios(std::span<const double> above, std::span<const double> below,
                                     const BootstrapOptions& given) {
  std::vector<double> figures;
  const std::size_t samples = std::min(above.size(), below.size());
  if (samples == 0) return figures;
  const auto options = with_defaults(given, samples);
  std::vector<std::uint32_t> weights(samples);
  for (std::size_t r = 0; r < options.resamples; ++r) {
    draw_weights(weights, options, r);
    double above_sum = 0.0;
    double below_sum = 0.0;
    for (std::size_t i = 0; i < samples; ++i) {
      above_sum += above[i] * weights[i];
      below_sum += below[i] * weights[i];
    }
    if (below_sum > 0.0) figures.push_back(above_sum / below_sum);
  }
  return figures;
}

Interval middle(std::vector<double> figures, double confidence) {
  std::sort(figures.begin(), figures.end());
  const double tail = (1.0 - confidence) / 2.0;
  return {percentile(figures, tail).value_or(0.0), percentile(figures, 1.0 - tail).value_or(0.0)};
}

double grouped_share_half_width(double p, std::span<const std::uint32_t> below, std::span<const std::uint32_t> counts) {
  double total = 0.0;
  double squares = 0.0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double excess = below[i] - p * counts[i];
    total += counts[i];
    squares += excess * excess;
  }
  const double groups = static_cast<double>(counts.size());
  if (total == 0.0 || groups < 2.0) return 1.0;
  return kNormal95 * std::sqrt(squares * groups / (groups - 1.0)) / total;
}

}  // namespace takt::measure
