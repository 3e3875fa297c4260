// An index drawn in proportion to weights.
#pragma once

#include <cstddef>
#include <span>

namespace takt {

// `uniform` is in [0, 1); weights are >= 0, at least one is above. Inverse transform over sums in a fixed order (blocks
// of 256 in double), so the same weights and number always give the same index. Never one whose weight is 0.
std::size_t draw(std::span<const float> weights, double uniform);

}  // namespace takt
