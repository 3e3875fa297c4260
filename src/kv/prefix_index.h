// Which blocks of one KV group hold which tokens, as a forest: a block's parent holds the tokens before it.
#pragma once

#include <boost/intrusive/set.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.h"
#include "kv/block_hash.h"

namespace takt {

// Digest of a block from the digest before it and its tokens.
using BlockHasher = std::function<BlockDigest(const BlockDigest& previous, std::span<const TokenId> tokens)>;

// A hit is confirmed by comparing the tokens, the parent block and the scope, so two contents with one digest never mix
// (the later one is simply not indexed). Only full blocks are held. Nothing allocates after construction.
//
// Whoever refers to a block also refers to its parents, hence a block without references has no descendant with any,
// and every such block can be evicted, leaves first. `idle` = in no sequence's table.
class PrefixIndex {
 public:
  PrefixIndex(std::uint32_t block_count, std::uint32_t block_tokens, BlockHasher hasher);

  // The block that holds `tokens` (exactly one block's) behind `parent`, or at the start of the scope when there is no
  // parent.
  std::optional<BlockId> find(std::optional<BlockId> parent, std::uint64_t scope,
                              std::span<const TokenId> tokens) const;

  enum class Insertion : std::uint8_t { kInserted, kEqualExists, kCollision };
  struct InsertResult {
    Insertion what = Insertion::kInserted;
    BlockId equal;  // kEqualExists: the block that holds the same
  };
  // `parent` is indexed. The new block is not idle.
  InsertResult insert(BlockId block, std::optional<BlockId> parent, std::uint64_t scope,
                      std::span<const TokenId> tokens) noexcept;

  bool contains(BlockId block) const { return nodes_[block.value].indexed; }
  std::optional<BlockId> parent_of(BlockId block) const;

  void mark_idle(BlockId block) noexcept;  // its last reference went; becomes the most recently used idle block
  void mark_used(BlockId block) noexcept;  // it got a reference
  // Takes the least recently used idle leaf out of the index.
  std::optional<BlockId> evict_one() noexcept;

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  struct Node : boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> {
    BlockDigest digest;
    std::uint64_t scope = 0;
    std::uint64_t last_use = 0;
    std::uint32_t block = 0;
    std::uint32_t parent = kNone;
    std::uint32_t children = 0;
    std::uint32_t next_in_bucket = kNone;
    bool indexed = false;
    bool idle = false;
    bool evictable = false;  // idle and without children: in the eviction order
    bool operator<(const Node& other) const { return last_use < other.last_use; }
  };

  BlockDigest digest_of(std::optional<BlockId> parent, std::uint64_t scope, std::span<const TokenId> tokens) const;
  std::uint32_t find_digest(const BlockDigest& digest) const;
  bool holds(const Node& node, std::optional<BlockId> parent, std::uint64_t scope,
             std::span<const TokenId> tokens) const;
  void update_evictable(Node& node) noexcept;
  void unlink_from_bucket(const Node& node) noexcept;
  std::uint32_t& bucket_of(const BlockDigest& digest) { return buckets_[digest.low & (buckets_.size() - 1)]; }

  const std::uint32_t block_tokens_;
  const BlockHasher hasher_;
  std::vector<Node> nodes_;             // by block
  std::vector<TokenId> tokens_;         // block_tokens_ per block
  std::vector<std::uint32_t> buckets_;  // heads of chains; a power of two
  boost::intrusive::set<Node> eviction_order_;
  std::uint64_t uses_ = 0;
};

}  // namespace takt
