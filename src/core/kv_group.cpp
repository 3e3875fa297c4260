#include "core/kv_group.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace takt {

BlockGeometry block_geometry(std::span<const KvGroupInfo> groups) {
  BlockGeometry geometry;
  for (std::size_t g = 0; g < groups.size() && g < kMaxKvGroups; ++g) {
    geometry.block_tokens[g] = groups[g].block_tokens;
    geometry.alignment = std::lcm(geometry.alignment, groups[g].block_tokens);
  }
  return geometry;
}

std::uint64_t pool_tokens(std::span<const KvGroupInfo> groups) {
  auto tokens = std::numeric_limits<std::uint64_t>::max();
  for (const KvGroupInfo& group : groups) {
    tokens = std::min(tokens, std::uint64_t{group.block_tokens} * group.block_count);
  }
  return groups.empty() ? 0 : tokens;
}

}  // namespace takt
