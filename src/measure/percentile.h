// Percentiles by linear interpolation between order statistics (type 7 of Hyndman and Fan, "Sample Quantiles in
// Statistical Packages", 1996).
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace takt::measure {

// Whether `samples` samples say anything about the p-th quantile: at least ten lie beyond it.
bool percentile_is_reportable(std::size_t samples, double p);

// The p-th quantile, 0 <= p <= 1, of samples sorted ascending. Empty for no samples or p outside its range. For
// calculations; what is shown to a person goes through reported_percentile.
std::optional<double> percentile(std::span<const double> sorted, double p);

// As percentile, and empty where percentile_is_reportable says no.
std::optional<double> reported_percentile(std::span<const double> sorted, double p);

}  // namespace takt::measure
