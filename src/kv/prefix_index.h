// Which blocks of one KV group hold which tokens, as a forest: a block's parent holds the tokens before it.
#pragma once

#include <algorithm>
#include <boost/intrusive/list.hpp>
#include <boost/intrusive/set.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "core/ids.h"
#include "core/prefix_miss.h"
#include "core/request.h"
#include "kv/block_hash.h"

namespace takt {

// Digest of a block from the digest before it and its tokens.
using BlockHasher = std::function<BlockDigest(const BlockDigest& previous, std::span<const TokenId> tokens)>;

// Idle blocks of an index, each in one of them: whose turn has just ended, found often or pinned by name, else by the
// tier of who used it.
struct IdleBlocks {
  std::uint32_t lingering = 0;
  std::uint32_t pinned = 0;
  std::uint32_t realtime = 0;
  std::uint32_t batch = 0;
};

// A hit is confirmed by comparing the tokens, the parent block and the scope, so two contents with one digest never mix
// (the later one is simply not indexed). Only full blocks are held. Nothing allocates after construction.
//
// Whoever refers to a block also refers to its parents, hence a block without references has no descendant with any,
// and every such block can be evicted, leaves first. `idle` = in no sequence's table.
class PrefixIndex {
 public:
  // At most `most_pinned` blocks are pinned.
  PrefixIndex(std::uint32_t block_count, std::uint32_t block_tokens, BlockHasher hasher, std::uint32_t most_pinned = 0);

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

  // Its last reference went. Order of eviction: by last use, where a realtime sequence's block counts as used a few
  // whole pools of uses later, and so does one that was found again; then those that are pinned by name or were found
  // at least twice more, as far as they may be pinned (of these the least recently used make room for new ones, those
  // pinned by name counting as used a few pools later); then those that linger, by the
  // end of their time.
  struct Idle {
    Tier tier = Tier::kRealtime;
    TimePoint linger_until = TimePoint::min();
  };
  void mark_idle(BlockId block, const Idle& idle) noexcept;
  void mark_used(BlockId block) noexcept;  // it got a reference
  void note_hit(BlockId block) noexcept;   // a new sequence found it
  void pin(BlockId block) noexcept;        // by name: as if it had been found often, and longer than what only was
  void set_most_pinned(std::uint32_t blocks) noexcept { most_pinned_ = blocks; }
  // Blocks that are kept before others, those in tables included.
  std::uint32_t pinned() const { return std::min(may_be_pinned_, most_pinned_); }
  const IdleBlocks& idle_blocks() const { return idle_blocks_; }
  // From then on none of those that linger now does.
  TimePoint last_linger_end() const { return last_linger_end_; }
  // Whose time is over lingers no more.
  void end_lingering(TimePoint now) noexcept;
  // Takes the first idle leaf in the order of eviction out of the index.
  std::optional<BlockId> evict_one(TimePoint now) noexcept;

  // Takes the block out if it is idle and of the scope. For whole scopes: none of it is in a table any more, and all
  // others of it are taken out too.
  bool forget(BlockId block, std::uint64_t scope) noexcept;

  // Why the search for `tokens` behind `parent` finds nothing.
  PrefixMiss why_missing(std::optional<BlockId> parent, std::uint64_t scope, std::span<const TokenId> tokens) const;

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;
  static constexpr std::uint32_t kPinAfterHits = 2;
  static constexpr std::uint64_t kPoolsAhead = 4;

  // Idle and without children: in one of the orders of eviction.
  enum class Place : std::uint8_t { kNone, kOrdinary, kPinned, kLingering };

  using OrderHook = boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>;
  using LingerHook = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>;
  struct Node : OrderHook, LingerHook {
    BlockDigest digest;
    std::uint64_t scope = 0;
    Place place = Place::kNone;
    std::uint64_t rank = 0;  // in the order of its place; smaller goes first
    std::uint64_t last_use = 0;
    TimePoint linger_until = TimePoint::min();  // of an idle one; above the least it is in by_linger_end_
    std::uint32_t hits = 0;
    std::uint32_t block = 0;
    std::uint32_t parent = kNone;
    std::uint32_t children = 0;
    std::uint32_t next_in_bucket = kNone;
    bool indexed = false;
    bool idle = false;
    bool realtime = false;  // a realtime sequence used it
    bool named = false;     // pinned by name
    bool may_be_pinned() const { return named || hits >= kPinAfterHits; }
    bool operator<(const Node& other) const {
      return rank != other.rank ? rank < other.rank : last_use < other.last_use;
    }
  };
  using Order = boost::intrusive::set<Node>;
  using LingerList = boost::intrusive::list<Node, boost::intrusive::constant_time_size<false>>;

  BlockDigest digest_of(std::optional<BlockId> parent, std::uint64_t scope, std::span<const TokenId> tokens) const;
  std::uint32_t find_digest(const BlockDigest& digest) const;
  bool holds(const Node& node, std::optional<BlockId> parent, std::uint64_t scope,
             std::span<const TokenId> tokens) const;
  void update_place(Node& node) noexcept;
  std::uint32_t& count_of(const Node& idle_node) noexcept;
  void stop_lingering(Node& node) noexcept;
  void move_to(Node& node, Place place) noexcept;
  Order& first_to_go() noexcept;
  Order& order_of(Place place);
  void unlink_from_bucket(const Node& node) noexcept;
  void take_out(Node& node) noexcept;
  std::uint32_t& bucket_of(const BlockDigest& digest) { return buckets_[digest.low & (buckets_.size() - 1)]; }

  const std::uint32_t block_tokens_;
  const BlockHasher hasher_;
  std::vector<Node> nodes_;             // by block
  std::vector<TokenId> tokens_;         // block_tokens_ per block
  std::vector<std::uint32_t> buckets_;  // heads of chains; a power of two
  Order ordinary_;
  Order pinned_order_;
  Order lingering_;
  LingerList by_linger_end_;  // leaves or not, in the order in which they became idle
  TimePoint last_linger_end_ = TimePoint::min();
  IdleBlocks idle_blocks_;
  std::uint32_t most_pinned_;
  std::uint32_t may_be_pinned_ = 0;   // nodes pinned by name or with enough hits
  std::vector<BlockDigest> evicted_;  // digests of some that were evicted of late, by their low bits
  std::uint64_t uses_ = 0;
};

}  // namespace takt
