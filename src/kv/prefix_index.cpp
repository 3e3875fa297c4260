#include "kv/prefix_index.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace takt {

PrefixIndex::PrefixIndex(std::uint32_t block_count, std::uint32_t block_tokens, BlockHasher hasher)
    : block_tokens_(block_tokens),
      hasher_(std::move(hasher)),
      nodes_(block_count),
      tokens_(std::size_t{block_count} * block_tokens),
      buckets_(std::bit_ceil(std::max(2U, block_count)), kNone) {
  for (std::uint32_t i = 0; i < block_count; ++i) nodes_[i].block = i;
}

BlockDigest PrefixIndex::digest_of(std::optional<BlockId> parent, std::uint64_t scope,
                                   std::span<const TokenId> tokens) const {
  return hasher_(parent ? nodes_[parent->value].digest : scope_digest(scope), tokens);
}

std::uint32_t PrefixIndex::find_digest(const BlockDigest& digest) const {
  std::uint32_t at = buckets_[digest.low & (buckets_.size() - 1)];
  while (at != kNone && nodes_[at].digest != digest) at = nodes_[at].next_in_bucket;
  return at;
}

bool PrefixIndex::holds(const Node& node, std::optional<BlockId> parent, std::uint64_t scope,
                        std::span<const TokenId> tokens) const {
  const TokenId* own = tokens_.data() + std::size_t{node.block} * block_tokens_;
  return node.parent == (parent ? parent->value : kNone) && node.scope == scope &&
         std::equal(tokens.begin(), tokens.end(), own, own + block_tokens_);
}

std::optional<BlockId> PrefixIndex::find(std::optional<BlockId> parent, std::uint64_t scope,
                                         std::span<const TokenId> tokens) const {
  const std::uint32_t at = find_digest(digest_of(parent, scope, tokens));
  if (at == kNone || !holds(nodes_[at], parent, scope, tokens)) return std::nullopt;
  return BlockId(at);
}

PrefixIndex::InsertResult PrefixIndex::insert(BlockId block, std::optional<BlockId> parent, std::uint64_t scope,
                                              std::span<const TokenId> tokens) noexcept {
  const BlockDigest digest = digest_of(parent, scope, tokens);
  if (const std::uint32_t at = find_digest(digest); at != kNone) {
    if (!holds(nodes_[at], parent, scope, tokens)) return {Insertion::kCollision, {}};
    return {Insertion::kEqualExists, BlockId(at)};
  }
  Node& node = nodes_[block.value];
  node.digest = digest;
  node.scope = scope;
  node.parent = parent ? parent->value : kNone;
  node.children = 0;
  node.indexed = true;
  node.idle = false;
  std::copy(tokens.begin(), tokens.end(), tokens_.begin() + std::size_t{block.value} * block_tokens_);
  node.next_in_bucket = std::exchange(bucket_of(digest), block.value);
  if (parent) {
    ++nodes_[parent->value].children;
    update_evictable(nodes_[parent->value]);
  }
  return {Insertion::kInserted, {}};
}

std::optional<BlockId> PrefixIndex::parent_of(BlockId block) const {
  const std::uint32_t parent = nodes_[block.value].parent;
  if (!nodes_[block.value].indexed || parent == kNone) return std::nullopt;
  return BlockId(parent);
}

void PrefixIndex::update_evictable(Node& node) noexcept {
  const bool evictable = node.indexed && node.idle && node.children == 0;
  if (evictable == node.evictable) return;
  node.evictable = evictable;
  if (evictable) {
    eviction_order_.insert(node);
  } else {
    eviction_order_.erase(eviction_order_.iterator_to(node));
  }
}

void PrefixIndex::mark_idle(BlockId block) noexcept {
  Node& node = nodes_[block.value];
  if (!node.indexed || node.idle) return;
  node.idle = true;
  node.last_use = ++uses_;
  update_evictable(node);
}

void PrefixIndex::mark_used(BlockId block) noexcept {
  Node& node = nodes_[block.value];
  if (!node.indexed || !node.idle) return;
  node.idle = false;
  update_evictable(node);
}

void PrefixIndex::unlink_from_bucket(const Node& node) noexcept {
  std::uint32_t* link = &bucket_of(node.digest);
  while (*link != node.block) link = &nodes_[*link].next_in_bucket;
  *link = node.next_in_bucket;
}

std::optional<BlockId> PrefixIndex::evict_one() noexcept {
  if (eviction_order_.empty()) return std::nullopt;
  Node& node = *eviction_order_.begin();
  unlink_from_bucket(node);
  node.indexed = false;
  update_evictable(node);
  node.idle = false;
  if (node.parent != kNone) {
    Node& parent = nodes_[node.parent];
    --parent.children;
    update_evictable(parent);
  }
  return BlockId(node.block);
}

}  // namespace takt
