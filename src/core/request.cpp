#include "core/request.h"

#include "base/random.h"

namespace takt {

const char* to_string(Tier tier) {
  return tier == Tier::kRealtime ? "realtime" : "batch";
}

std::uint64_t derive_seed(std::uint64_t seed, std::uint32_t index) {
  if (index == 0) return seed;
  const auto words = philox4x32(seed, (std::uint64_t{0xC401CEu} << 32) | index);
  return (static_cast<std::uint64_t>(words[1]) << 32) | words[0];
}

}  // namespace takt
