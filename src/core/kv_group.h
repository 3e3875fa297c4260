// KV groups: layers that share block geometry and lifetime. Block arithmetic over all groups of a model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace takt {

struct KvGroupInfo {
  std::uint32_t block_tokens = 16;
  std::uint32_t block_count = 0;
  std::size_t block_bytes = 0;
};

inline constexpr std::size_t kMaxKvGroups = 4;

// A number of blocks in every group; groups that a model does not have stay 0.
struct GroupCounts {
  std::array<std::uint32_t, kMaxKvGroups> blocks{};

  GroupCounts& operator+=(const GroupCounts& other) {
    for (std::size_t g = 0; g < kMaxKvGroups; ++g) blocks[g] += other.blocks[g];
    return *this;
  }
  // Stops at 0.
  GroupCounts& operator-=(const GroupCounts& other) {
    for (std::size_t g = 0; g < kMaxKvGroups; ++g)
      blocks[g] -= blocks[g] < other.blocks[g] ? blocks[g] : other.blocks[g];
    return *this;
  }
  friend GroupCounts operator+(GroupCounts a, const GroupCounts& b) { return a += b; }
  friend GroupCounts operator-(GroupCounts a, const GroupCounts& b) { return a -= b; }
  bool operator==(const GroupCounts&) const = default;

  // True when every group's number is at most the other's.
  bool within(const GroupCounts& limit) const {
    for (std::size_t g = 0; g < kMaxKvGroups; ++g) {
      if (blocks[g] > limit.blocks[g]) return false;
    }
    return true;
  }
  bool none() const { return *this == GroupCounts{}; }
};

// Block sizes of a model's groups.
struct BlockGeometry {
  std::array<std::uint32_t, kMaxKvGroups> block_tokens{};  // 0: no such group
  std::uint32_t alignment = 1;  // least common multiple: positions at which every group is at a block border

  GroupCounts blocks_for(std::uint32_t tokens) const {
    GroupCounts counts;
    for (std::size_t g = 0; g < kMaxKvGroups && block_tokens[g] != 0; ++g) {
      counts.blocks[g] = static_cast<std::uint32_t>((std::uint64_t{tokens} + block_tokens[g] - 1) / block_tokens[g]);
    }
    return counts;
  }
  std::uint32_t align_down(std::uint32_t tokens) const { return tokens / alignment * alignment; }
  // Pages of the swap arena for so many positions, and blocks of all groups in one.
  std::uint32_t pages_for(std::uint32_t tokens) const {
    return static_cast<std::uint32_t>((std::uint64_t{tokens} + alignment - 1) / alignment);
  }
  std::uint32_t page_blocks() const {
    std::uint32_t sum = 0;
    for (const std::uint32_t count : blocks_for(alignment).blocks) sum += count;
    return sum;
  }
};

// `groups` holds 1 to kMaxKvGroups entries with block_tokens >= 1.
BlockGeometry block_geometry(std::span<const KvGroupInfo> groups);

// Tokens that one sequence could hold with every block of the pool.
std::uint64_t pool_tokens(std::span<const KvGroupInfo> groups);

}  // namespace takt
