#include "kv/prefix_index.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace takt {

PrefixIndex::PrefixIndex(std::uint32_t block_count, std::uint32_t block_tokens, BlockHasher hasher,
                         std::uint32_t most_pinned)
    : block_tokens_(block_tokens),
      hasher_(std::move(hasher)),
      nodes_(block_count),
      tokens_(std::size_t{block_count} * block_tokens),
      buckets_(std::bit_ceil(std::max(2U, block_count)), kNone),
      most_pinned_(most_pinned),
      evicted_(buckets_.size() * 2) {
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
  node.realtime = false;
  node.named = false;
  node.hits = 0;
  node.linger_until = TimePoint::min();
  std::copy(tokens.begin(), tokens.end(), tokens_.begin() + std::size_t{block.value} * block_tokens_);
  node.next_in_bucket = std::exchange(bucket_of(digest), block.value);
  if (parent) {
    ++nodes_[parent->value].children;
    update_place(nodes_[parent->value]);
  }
  return {Insertion::kInserted, {}};
}

std::optional<BlockId> PrefixIndex::parent_of(BlockId block) const {
  const std::uint32_t parent = nodes_[block.value].parent;
  if (!nodes_[block.value].indexed || parent == kNone) return std::nullopt;
  return BlockId(parent);
}

PrefixIndex::Order& PrefixIndex::order_of(Place place) {
  if (place == Place::kPinned) return pinned_order_;
  return place == Place::kLingering ? lingering_ : ordinary_;
}

void PrefixIndex::move_to(Node& node, Place place) noexcept {
  if (node.place != Place::kNone) order_of(node.place).erase(Order::s_iterator_to(node));
  node.place = place;
  if (place == Place::kNone) return;
  const std::uint64_t ahead = kPoolsAhead * nodes_.size();
  node.rank = node.last_use + (node.realtime ? ahead : 0) + (node.hits > 0 ? ahead : 0) + (node.named ? 2 * ahead : 0);
  if (place == Place::kLingering) node.rank = static_cast<std::uint64_t>(node.linger_until.time_since_epoch().count());
  order_of(place).insert(node);
}

void PrefixIndex::update_place(Node& node) noexcept {
  Place place = Place::kNone;
  if (node.indexed && node.idle && node.children == 0) {
    place = node.may_be_pinned() ? Place::kPinned : Place::kOrdinary;
    if (node.linger_until > TimePoint::min()) place = Place::kLingering;
  }
  if (place != node.place) move_to(node, place);
}

std::uint32_t& PrefixIndex::count_of(const Node& idle_node) noexcept {
  if (idle_node.linger_until > TimePoint::min()) return idle_blocks_.lingering;
  if (idle_node.may_be_pinned()) return idle_blocks_.pinned;
  return idle_node.realtime ? idle_blocks_.realtime : idle_blocks_.batch;
}

void PrefixIndex::stop_lingering(Node& node) noexcept {
  if (node.linger_until == TimePoint::min()) return;
  by_linger_end_.erase(LingerList::s_iterator_to(node));
  node.linger_until = TimePoint::min();
}

void PrefixIndex::end_lingering(TimePoint now) noexcept {
  while (!by_linger_end_.empty() && by_linger_end_.front().linger_until <= now) {
    Node& node = by_linger_end_.front();
    --count_of(node);
    stop_lingering(node);
    ++count_of(node);
    update_place(node);
  }
}

void PrefixIndex::mark_idle(BlockId block, const Idle& idle) noexcept {
  Node& node = nodes_[block.value];
  if (!node.indexed || node.idle) return;
  node.idle = true;
  node.last_use = ++uses_;
  node.realtime = node.realtime || idle.tier == Tier::kRealtime;
  node.linger_until = idle.linger_until;
  if (node.linger_until > TimePoint::min()) {
    by_linger_end_.push_back(node);
    last_linger_end_ = std::max(last_linger_end_, node.linger_until);
  }
  ++count_of(node);
  update_place(node);
}

void PrefixIndex::mark_used(BlockId block) noexcept {
  Node& node = nodes_[block.value];
  if (!node.indexed || !node.idle) return;
  --count_of(node);
  stop_lingering(node);
  node.idle = false;
  update_place(node);
}

void PrefixIndex::note_hit(BlockId block) noexcept {
  Node& node = nodes_[block.value];
  const bool before = node.may_be_pinned();
  if (node.idle) --count_of(node);
  if (node.hits < kPinAfterHits) ++node.hits;
  if (node.idle) ++count_of(node);
  if (!before && node.may_be_pinned()) ++may_be_pinned_;
}

void PrefixIndex::pin(BlockId block) noexcept {
  Node& node = nodes_[block.value];
  if (!node.indexed || node.named) return;
  if (!node.may_be_pinned()) ++may_be_pinned_;
  if (node.idle) --count_of(node);
  node.named = true;
  if (node.idle) ++count_of(node);
  update_place(node);
}

PrefixMiss PrefixIndex::why_missing(std::optional<BlockId> parent, std::uint64_t scope,
                                    std::span<const TokenId> tokens) const {
  const BlockDigest digest = digest_of(parent, scope, tokens);
  if (evicted_[digest.low & (evicted_.size() - 1)] == digest) return PrefixMiss::kEvicted;
  if (!parent) return PrefixMiss::kUnknown;
  return nodes_[parent->value].children > 0 ? PrefixMiss::kDiverged : PrefixMiss::kNew;
}

void PrefixIndex::unlink_from_bucket(const Node& node) noexcept {
  std::uint32_t* link = &bucket_of(node.digest);
  while (*link != node.block) link = &nodes_[*link].next_in_bucket;
  *link = node.next_in_bucket;
}

PrefixIndex::Order& PrefixIndex::first_to_go() noexcept {
  if (ordinary_.empty()) return pinned_order_.empty() ? lingering_ : pinned_order_;
  const bool too_many = may_be_pinned_ > most_pinned_ && !pinned_order_.empty();
  return too_many && *pinned_order_.begin() < *ordinary_.begin() ? pinned_order_ : ordinary_;
}

void PrefixIndex::take_out(Node& node) noexcept {
  unlink_from_bucket(node);
  --count_of(node);
  stop_lingering(node);
  node.indexed = false;
  update_place(node);
  node.idle = false;
  if (node.may_be_pinned()) --may_be_pinned_;
  if (node.parent != kNone) {
    Node& parent = nodes_[node.parent];
    --parent.children;
    update_place(parent);
  }
}

std::optional<BlockId> PrefixIndex::evict_one(TimePoint now) noexcept {
  end_lingering(now);
  Order& order = first_to_go();
  if (order.empty()) return std::nullopt;
  Node& node = *order.begin();
  evicted_[node.digest.low & (evicted_.size() - 1)] = node.digest;
  take_out(node);
  return BlockId(node.block);
}

bool PrefixIndex::forget(BlockId block, std::uint64_t scope) noexcept {
  Node& node = nodes_[block.value];
  if (!node.indexed || !node.idle || node.scope != scope) return false;
  take_out(node);
  return true;
}

}  // namespace takt
