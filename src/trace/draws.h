// Random draws from distributions, each a function of (key, index).
#pragma once

#include <cstdint>

namespace takt::trace {

double draw_uniform(std::uint64_t key, std::uint64_t index);      // in (0, 1)
double draw_exponential(std::uint64_t key, std::uint64_t index);  // mean 1
double draw_normal(std::uint64_t key, std::uint64_t index);       // mean 0, deviation 1 (Box and Muller, 1958)
// Mean 1, by the shape, above 0 (Marsaglia and Tsang, ACM TOMS 26, 2000). An infinite shape gives 1.
double draw_gamma(std::uint64_t key, std::uint64_t index, double shape);

}  // namespace takt::trace
