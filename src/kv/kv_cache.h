// KV memory of one model as ids and counts: block tables of sequences, the prefix cache, and reservations for a step.
// No tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "core/capacity_view.h"
#include "core/ids.h"
#include "core/kv_group.h"
#include "core/prefix_miss.h"
#include "core/request.h"
#include "kv/block_pool.h"
#include "kv/options.h"
#include "kv/prefix_index.h"
#include "kv/snapshot.h"

namespace takt {

struct KvSequenceOptions {
  std::uint64_t cache_scope = 0;  // prefix blocks are shared only inside a scope
  bool use_prefix_cache = true;
  // A fork: its first `shared_tokens` known tokens are those of `source`, whose blocks it may share while they are
  // there.
  std::optional<SequenceId> source;
  std::uint32_t shared_tokens = 0;  // of a source: those that its forks share
  Tier tier = Tier::kRealtime;      // whose blocks stay longer in the prefix cache
  std::uint32_t pinned_tokens = 0;  // the whole blocks of so many tokens from the start are pinned
  // Others are opened with it as their source. They share its prompt also when it is gone and the prefix cache is off;
  // then nobody else finds it.
  bool has_forks = false;
};

// Whether a conversation is likely to go on from where a sequence ended.
enum class SequenceEnd : std::uint8_t { kGone, kTurnEnded };

struct ReserveRequest {
  SequenceId sequence;
  std::span<const TokenId> known;  // its known tokens
  std::uint32_t first_position =
      0;  // where the step starts; a table that is still empty gets the cached prefix up to here
  std::uint32_t cover_tokens = 0;  // positions that the tables must reach
};

struct CommittedTokens {
  SequenceId sequence;
  std::span<const TokenId> known;
  std::uint32_t computed = 0;  // tokens whose KV is in memory now
};

class Reservation;

// Tables grow by appending and shrink from the tail; a full block may be exchanged for one that holds the same.
class KvCache {
 public:
  // Errors: kInvalidArgument for no group, too many, or a group without blocks or tokens. `hasher` is for tests of
  // collisions; none: keyed at random.
  static Result<std::unique_ptr<KvCache>> create(std::vector<KvGroupInfo> groups, const KvOptions& options,
                                                 BlockHasher hasher = nullptr);

  void open(SequenceId sequence, const KvSequenceOptions& options);
  // Gives back everything; full blocks stay in the prefix cache. Those of an ended realtime turn linger there.
  void close(SequenceId sequence, SequenceEnd end = SequenceEnd::kGone) noexcept;
  // What can change while sequences are there: how long turns linger that end from now on, and the pinned share.
  void set_options(const KvOptions& options) noexcept;
  // Of the first group.
  std::uint32_t pinned_blocks() const { return groups_[0].index.pinned(); }
  // Of the first group, and when those that linger now do no more.
  IdleBlocks idle_blocks() const { return groups_[0].index.idle_blocks(); }
  TimePoint last_linger_end() const { return groups_[0].index.last_linger_end(); }
  // The time is `now` until the next call.
  void tick(TimePoint now) noexcept;
  // Gives back the blocks behind `keep_tokens`, which is aligned or the sequence's computed tokens.
  void truncate(SequenceId sequence, std::uint32_t keep_tokens) noexcept;

  // Counts only; prefixes and tails are empty.
  CapacityView capacity() const;
  // The same counts into a view that keeps its lists.
  void count_into(CapacityView& view) const;
  // For a sequence with an empty table: what it could share. At least the last known token stays to be computed.
  CachedPrefix cached_prefix(SequenceId sequence, std::span<const TokenId> known) const;
  HeldTail held_tail(SequenceId sequence) const;
  // Of sequences that are counted together: the blocks of each that one before it holds too, appended. Those that have
  // none are left out.
  void count_shared(std::span<const SequenceId> sequences, std::vector<SharedBlocks>& shared) const;
  // Its block table in one group, valid until it changes.
  std::span<const BlockId> table(SequenceId sequence, GroupId group) const;
  // Why no more of its tokens were found when the sequence took its first blocks.
  PrefixMiss prefix_miss(SequenceId sequence) const;

  // Makes every table reach its cover_tokens, evicting cached blocks as needed. All or nothing. What is evicted stays
  // evicted even when the reservation is given back: a step may have overwritten it. Errors: kInternal when a plan
  // asked for more than the view allowed.
  Result<Reservation> reserve(std::span<const ReserveRequest> requests);

  KvSnapshot snapshot() const;
  const BlockGeometry& geometry() const { return geometry_; }

 private:
  friend class Reservation;

  struct Group {
    Group(const KvGroupInfo& info, BlockHasher hasher, double pinned_share);
    KvGroupInfo info;
    BlockPool pool;
    PrefixIndex index;
    mutable std::vector<std::uint32_t> counted_in;  // by block: the last count of shared ones that met it
  };
  struct Table {
    KvSequenceOptions options;
    std::uint32_t computed = 0;
    bool was_attached = false;  // it has looked for a prefix before: finding its own blocks again is no hit
    PrefixMiss miss = PrefixMiss::kNone;
    bool is_of_family = false;  // its prompt alone is in the index, for its family
    bool may_index = true;
    bool indexing = true;  // false after a digest collision: what follows has no parent to be chained to
    std::vector<std::vector<BlockId>> blocks;   // per group
    std::vector<std::uint32_t> indexed_blocks;  // per group: leading blocks that are in the index
  };
  // A prefix found in every group.
  struct Match {
    std::uint32_t tokens = 0;
    std::vector<std::vector<BlockId>> blocks;  // per group
  };
  // Of a reserved sequence, before the reservation.
  struct Before {
    SequenceId sequence;
    std::uint32_t computed = 0;
    GroupCounts blocks;
  };

  KvCache(std::vector<KvGroupInfo> groups, const KvOptions& options, const BlockHasher& hasher);
  void join_family(Table& table, SequenceId sequence);
  void leave_family(std::uint64_t scope) noexcept;
  void match_index(const Table& table, std::span<const TokenId> known, std::uint32_t limit, Match& match) const;
  void match_source(const Table& table, std::uint32_t limit, Match& match) const;
  // Valid until the next call.
  const Match& match_prefix(const Table& table, std::span<const TokenId> known, std::uint32_t limit) const;
  bool attach_prefix(Table& table, const ReserveRequest& request);
  std::optional<BlockId> take_block(Group& group) noexcept;
  void release_block(Group& group, BlockId block, const PrefixIndex::Idle& idle) noexcept;
  void shrink(Table& table, std::size_t group, std::size_t keep_blocks,
              TimePoint linger_until = TimePoint::min()) noexcept;
  PrefixMiss why_missed(const Table& table, const Match& match, std::span<const TokenId> known) const;
  void commit(const CommittedTokens& committed) noexcept;
  void index_full_blocks(Table& table, std::size_t group, std::span<const TokenId> known) noexcept;

  const bool prefix_cache_;
  Duration linger_;
  TimePoint now_{};
  BlockGeometry geometry_;
  std::vector<Group> groups_;
  std::unordered_map<SequenceId, Table> tables_;
  const std::uint64_t family_key_;
  std::unordered_map<std::uint64_t, std::uint32_t> families_;  // their members, by scope
  // Kept for their memory: what is done for every step allocates nothing.
  mutable std::uint32_t counts_ = 0;  // of shared blocks
  mutable Match found_;
  mutable Match indexed_;
  std::vector<Before> before_;
};

// Blocks taken for one step. Given back on destruction unless committed.
class Reservation {
 public:
  Reservation(Reservation&& other) noexcept;
  Reservation& operator=(Reservation&&) = delete;
  ~Reservation();

  // Block table of a reserved sequence in one group, valid until commit or destruction.
  std::span<const BlockId> table(SequenceId sequence, GroupId group) const;

  // Keeps the blocks and publishes full computed ones to the prefix cache. Sequences that were reserved and are not
  // named keep their blocks too, with nothing more computed.
  void commit(std::span<const CommittedTokens> committed) noexcept;

 private:
  friend class KvCache;
  explicit Reservation(KvCache& cache) : cache_(&cache), before_(std::move(cache.before_)) { before_.clear(); }
  void end() noexcept;

  KvCache* cache_;
  std::vector<KvCache::Before> before_;
};

}  // namespace takt
