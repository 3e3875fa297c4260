#include "kv/kv_cache.h"

#include <algorithm>
#include <utility>

namespace takt {

namespace {

// Entries that a block table has room for from the first on, so that those of most conversations never grow.
constexpr std::size_t kLeastTable = 64;

}  // namespace

KvCache::Group::Group(const KvGroupInfo& group_info, BlockHasher hasher, double pinned_share)
    : info(group_info),
      pool(group_info.block_count),
      index(group_info.block_count, group_info.block_tokens, std::move(hasher),
            static_cast<std::uint32_t>(pinned_share * group_info.block_count)),
      counted_in(group_info.block_count, 0) {}

Result<std::unique_ptr<KvCache>> KvCache::create(std::vector<KvGroupInfo> groups, const KvOptions& options,
                                                 BlockHasher hasher) {
  if (groups.empty() || groups.size() > kMaxKvGroups) {
    return Error::invalid("kv.groups", "A model has 1 to " + std::to_string(kMaxKvGroups) + " KV groups.");
  }
  for (const KvGroupInfo& group : groups) {
    if (group.block_tokens == 0 || group.block_count == 0) {
      return Error::invalid("kv.blocks", "A KV group needs at least one block of at least one token.");
    }
  }
  if (!hasher) {
    hasher = [key = fresh_hash_key()](const BlockDigest& previous, std::span<const TokenId> tokens) {
      return hash_block(key, previous, tokens);
    };
  }
  return std::unique_ptr<KvCache>(new KvCache(std::move(groups), options, hasher));
}

KvCache::KvCache(std::vector<KvGroupInfo> groups, const KvOptions& options, const BlockHasher& hasher)
    : prefix_cache_(options.prefix_cache),
      linger_(options.linger),
      geometry_(block_geometry(groups)),
      family_key_(fresh_hash_key().secret.front()) {
  groups_.reserve(groups.size());
  for (const KvGroupInfo& info : groups) groups_.emplace_back(info, hasher, options.pinned_share);
}

void KvCache::set_options(const KvOptions& options) noexcept {
  linger_ = options.linger;
  for (Group& group : groups_)
    group.index.set_most_pinned(static_cast<std::uint32_t>(options.pinned_share * group.info.block_count));
}

void KvCache::tick(TimePoint now) noexcept {
  now_ = now;
  for (Group& group : groups_) group.index.end_lingering(now);
}

void KvCache::open(SequenceId sequence, const KvSequenceOptions& options) {
  Table table;
  table.options = options;
  table.may_index = table.indexing = prefix_cache_ && options.use_prefix_cache;
  table.blocks.resize(groups_.size());
  table.indexed_blocks.resize(groups_.size(), 0);
  const auto [place, is_new] = tables_.emplace(sequence, std::move(table));
  if (is_new && !place->second.may_index) join_family(place->second, sequence);
}

// Forks that find no source any more, because it ended at once or their seats came late, find its prompt in the index,
// in a scope that is theirs alone and ends with them. To others these are blocks that go first.
void KvCache::join_family(Table& table, SequenceId sequence) {
  std::optional<std::uint64_t> scope;
  if (table.options.has_forks) scope = family_key_ ^ sequence.value;
  if (table.options.source) {
    const auto source = tables_.find(*table.options.source);
    if (source != tables_.end() && source->second.is_of_family) scope = source->second.options.cache_scope;
  }
  if (!scope) return;
  ++families_[*scope];
  table.is_of_family = table.may_index = table.indexing = true;
  table.options.cache_scope = *scope;
  table.options.tier = Tier::kBatch;
  table.options.pinned_tokens = 0;
}

void KvCache::leave_family(std::uint64_t scope) noexcept {
  const auto family = families_.find(scope);
  if (family == families_.end() || --family->second > 0) return;
  families_.erase(family);
  for (Group& group : groups_) {
    for (std::uint32_t i = 0; i < group.pool.size(); ++i) {
      if (group.index.forget(BlockId(i), scope)) group.pool.evict(BlockId(i));
    }
  }
}

void KvCache::close(SequenceId sequence, SequenceEnd end) noexcept {
  const auto it = tables_.find(sequence);
  if (it == tables_.end()) return;
  const bool lingers =
      end == SequenceEnd::kTurnEnded && it->second.options.tier == Tier::kRealtime && linger_ > Duration::zero();
  const TimePoint linger_until = lingers ? now_ + linger_ : TimePoint::min();
  for (std::size_t g = 0; g < groups_.size(); ++g) shrink(it->second, g, 0, linger_until);
  const bool was_of_family = it->second.is_of_family;
  const std::uint64_t scope = it->second.options.cache_scope;
  tables_.erase(it);
  if (was_of_family) leave_family(scope);
}

void KvCache::truncate(SequenceId sequence, std::uint32_t keep_tokens) noexcept {
  const auto it = tables_.find(sequence);
  if (it == tables_.end()) return;
  Table& table = it->second;
  const GroupCounts keep = geometry_.blocks_for(keep_tokens);
  for (std::size_t g = 0; g < groups_.size(); ++g) shrink(table, g, keep.blocks[g]);
  table.computed = std::min(table.computed, keep_tokens);
  // An emptied table may start over behind any prefix.
  if (keep_tokens == 0) table.indexing = table.may_index;
}

void KvCache::shrink(Table& table, std::size_t group, std::size_t keep_blocks, TimePoint linger_until) noexcept {
  std::vector<BlockId>& blocks = table.blocks[group];
  // From the tail, so that of a cached conversation the tail is evicted first.
  while (blocks.size() > keep_blocks) {
    release_block(groups_[group], blocks.back(), {table.options.tier, linger_until});
    blocks.pop_back();
  }
  table.indexed_blocks[group] = std::min(table.indexed_blocks[group], static_cast<std::uint32_t>(blocks.size()));
}

void KvCache::release_block(Group& group, BlockId block, const PrefixIndex::Idle& idle) noexcept {
  if (group.pool.owner(block) == BlockOwner::kReserved) {
    group.pool.unreserve(block);
    return;
  }
  const bool indexed = group.index.contains(block);
  if (group.pool.release(block, indexed) && indexed) group.index.mark_idle(block, idle);
}

CapacityView KvCache::capacity() const {
  CapacityView view;
  count_into(view);
  return view;
}

void KvCache::count_into(CapacityView& view) const {
  view.geometry = geometry_;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    view.total.blocks[g] = groups_[g].pool.size();
    view.free.blocks[g] = groups_[g].pool.free_count();
    view.evictable.blocks[g] = groups_[g].pool.cached_count();
  }
}

void KvCache::match_index(const Table& table, std::span<const TokenId> known, std::uint32_t limit, Match& match) const {
  match.tokens = 0;
  match.blocks.resize(groups_.size());
  for (auto& blocks : match.blocks) blocks.clear();
  if (!table.indexing) return;
  match.tokens = limit;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const std::uint32_t size = groups_[g].info.block_tokens;
    std::optional<BlockId> parent;
    std::uint32_t at = 0;
    while (at + size <= match.tokens) {
      const auto found = groups_[g].index.find(parent, table.options.cache_scope, known.subspan(at, size));
      if (!found) break;
      match.blocks[g].push_back(*found);
      parent = found;
      at += size;
    }
    match.tokens = geometry_.align_down(std::min(match.tokens, at));
  }
}

void KvCache::match_source(const Table& table, std::uint32_t limit, Match& match) const {
  match.tokens = 0;
  match.blocks.resize(groups_.size());
  for (auto& blocks : match.blocks) blocks.clear();
  if (!table.options.source) return;
  const auto source = tables_.find(*table.options.source);
  if (source == tables_.end()) return;
  match.tokens = geometry_.align_down(std::min({limit, table.options.shared_tokens, source->second.computed}));
  match.blocks = source->second.blocks;
}

const KvCache::Match& KvCache::match_prefix(const Table& table, std::span<const TokenId> known,
                                            std::uint32_t limit) const {
  match_source(table, limit, found_);
  if (found_.tokens < limit) {
    match_index(table, known, limit, indexed_);
    if (indexed_.tokens > found_.tokens) std::swap(found_, indexed_);
  }
  const GroupCounts blocks = geometry_.blocks_for(found_.tokens);
  for (std::size_t g = 0; g < groups_.size(); ++g) found_.blocks[g].resize(blocks.blocks[g]);
  return found_;
}

CachedPrefix KvCache::cached_prefix(SequenceId sequence, std::span<const TokenId> known) const {
  CachedPrefix prefix{sequence, 0, {}};
  const auto it = tables_.find(sequence);
  if (it == tables_.end() || known.empty() || !it->second.blocks[0].empty()) return prefix;
  const auto limit = geometry_.align_down(static_cast<std::uint32_t>(known.size() - 1));
  const Match& match = match_prefix(it->second, known, limit);
  prefix.tokens = match.tokens;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    prefix.evictable.blocks[g] =
        static_cast<std::uint32_t>(std::count_if(match.blocks[g].begin(), match.blocks[g].end(), [&](BlockId block) {
          return groups_[g].pool.owner(block) == BlockOwner::kCached;
        }));
  }
  return prefix;
}

// By the first group that lacks the block behind what was found.
PrefixMiss KvCache::why_missed(const Table& table, const Match& match, std::span<const TokenId> known) const {
  if (!table.indexing || table.is_of_family) return PrefixMiss::kOff;
  if (match.tokens + geometry_.alignment >= known.size()) return PrefixMiss::kNone;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const Group& group = groups_[g];
    const std::uint32_t size = group.info.block_tokens;
    if (match.tokens + size >= known.size()) continue;
    std::optional<BlockId> parent;
    if (match.tokens > 0) parent = match.blocks[g][match.tokens / size - 1];
    if (parent && !group.index.contains(*parent)) return PrefixMiss::kNew;  // of a fork's source
    const std::span<const TokenId> next = known.subspan(match.tokens, size);
    if (!group.index.find(parent, table.options.cache_scope, next))
      return group.index.why_missing(parent, table.options.cache_scope, next);
  }
  return PrefixMiss::kNone;
}

PrefixMiss KvCache::prefix_miss(SequenceId sequence) const {
  const auto it = tables_.find(sequence);
  return it == tables_.end() ? PrefixMiss::kNone : it->second.miss;
}

std::span<const BlockId> KvCache::table(SequenceId sequence, GroupId group) const {
  const auto it = tables_.find(sequence);
  if (it == tables_.end() || group.value >= it->second.blocks.size()) return {};
  return it->second.blocks[group.value];
}

HeldTail KvCache::held_tail(SequenceId sequence) const {
  HeldTail tail{sequence, 0};
  const auto it = tables_.find(sequence);
  if (it == tables_.end()) return tail;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const std::vector<BlockId>& blocks = it->second.blocks[g];
    std::size_t exclusive = blocks.size();
    while (exclusive > 0 && groups_[g].pool.references(blocks[exclusive - 1]) == 1) --exclusive;
    const auto from = static_cast<std::uint32_t>(exclusive) * groups_[g].info.block_tokens;
    tail.exclusive_from = std::max(tail.exclusive_from, geometry_.align_down(from + geometry_.alignment - 1));
  }
  return tail;
}

// Whoever refers to a block refers to those before it: what is shared comes first in a table.
void KvCache::count_shared(std::span<const SequenceId> sequences, std::vector<SharedBlocks>& shared) const {
  ++counts_;
  for (const SequenceId sequence : sequences) {
    const auto it = tables_.find(sequence);
    if (it == tables_.end()) continue;
    SharedBlocks of_sequence{sequence, {}};
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (const BlockId block : it->second.blocks[g]) {
        if (groups_[g].pool.references(block) < 2) break;
        std::uint32_t& counted_in = groups_[g].counted_in[block.value];
        if (counted_in == counts_) ++of_sequence.blocks.blocks[g];
        counted_in = counts_;
      }
    }
    if (!of_sequence.blocks.none()) shared.push_back(of_sequence);
  }
}

std::optional<BlockId> KvCache::take_block(Group& group) noexcept {
  if (const auto block = group.pool.reserve()) return block;
  const auto evicted = group.index.evict_one(now_);
  if (!evicted) return std::nullopt;
  group.pool.evict(*evicted);
  return group.pool.reserve();
}

bool KvCache::attach_prefix(Table& table, const ReserveRequest& request) {
  const Match& match = match_prefix(table, request.known, request.first_position);
  if (match.tokens != request.first_position) return false;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    table.blocks[g].reserve(match.blocks[g].size());
    for (const BlockId block : match.blocks[g]) {
      groups_[g].pool.share(block);
      groups_[g].index.mark_used(block);
      if (!table.was_attached) groups_[g].index.note_hit(block);
      if ((table.blocks[g].size() + 1) * groups_[g].info.block_tokens <= table.options.pinned_tokens)
        groups_[g].index.pin(block);
      table.blocks[g].push_back(block);
    }
  }
  if (!table.was_attached) table.miss = why_missed(table, match, request.known);
  table.was_attached = true;
  table.computed = match.tokens;
  return true;
}

Result<Reservation> KvCache::reserve(std::span<const ReserveRequest> requests) {
  Reservation reservation(*this);
  reservation.before_.reserve(requests.size());
  // Shared prefixes first: what follows may evict.
  for (const ReserveRequest& request : requests) {
    const auto it = tables_.find(request.sequence);
    if (it == tables_.end()) return Error::internal("A step was planned for a sequence that has no block table.");
    Table& table = it->second;
    Before before{request.sequence, table.computed, {}};
    for (std::size_t g = 0; g < groups_.size(); ++g)
      before.blocks.blocks[g] = static_cast<std::uint32_t>(table.blocks[g].size());
    const bool empty = table.blocks[0].empty();
    reservation.before_.push_back(before);
    const bool starts_right = empty ? attach_prefix(table, request) : table.computed == request.first_position;
    if (!starts_right) return Error::internal("A step was planned from a position that is not in memory.");
  }
  for (const ReserveRequest& request : requests) {
    Table& table = tables_.find(request.sequence)->second;
    const GroupCounts needed = geometry_.blocks_for(request.cover_tokens);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      std::vector<BlockId>& blocks = table.blocks[g];
      if (needed.blocks[g] > blocks.capacity())
        blocks.reserve(std::max<std::size_t>({needed.blocks[g], 2 * blocks.capacity(), kLeastTable}));
      while (blocks.size() < needed.blocks[g]) {
        const auto block = take_block(groups_[g]);
        if (!block) return Error::internal("A step was planned with more KV blocks than there are.");
        blocks.push_back(*block);
      }
    }
  }
  return reservation;
}

void KvCache::commit(const CommittedTokens& committed) noexcept {
  const auto it = tables_.find(committed.sequence);
  if (it == tables_.end()) return;
  it->second.computed = committed.computed;
  for (std::size_t g = 0; g < groups_.size(); ++g) index_full_blocks(it->second, g, committed.known);
}

void KvCache::index_full_blocks(Table& table, std::size_t g, std::span<const TokenId> known) noexcept {
  Group& group = groups_[g];
  const std::uint32_t size = group.info.block_tokens;
  std::uint32_t& indexed = table.indexed_blocks[g];
  const std::uint32_t most = table.is_of_family ? table.options.shared_tokens : table.computed;
  while (table.indexing && (indexed + 1) * size <= std::min(table.computed, most)) {
    BlockId& block = table.blocks[g][indexed];
    const std::optional<BlockId> parent = indexed == 0 ? std::nullopt : std::optional(table.blocks[g][indexed - 1]);
    const auto result =
        group.index.insert(block, parent, table.options.cache_scope, known.subspan(std::size_t{indexed} * size, size));
    if (result.what == PrefixIndex::Insertion::kCollision) {
      table.indexing = false;
      return;
    }
    if (result.what == PrefixIndex::Insertion::kEqualExists && result.equal != block) {
      group.pool.share(result.equal);
      group.index.mark_used(result.equal);
      release_block(group, std::exchange(block, result.equal), {table.options.tier});
    }
    ++indexed;
    if (indexed * size <= table.options.pinned_tokens) group.index.pin(block);
  }
}

KvSnapshot KvCache::snapshot() const {
  KvSnapshot snapshot;
  for (const Group& group : groups_) {
    KvGroupSnapshot view;
    view.block_tokens = group.info.block_tokens;
    view.free_count = group.pool.free_count();
    view.cached_count = group.pool.cached_count();
    view.blocks.reserve(group.pool.size());
    for (std::uint32_t i = 0; i < group.pool.size(); ++i) {
      const BlockId block(i);
      const auto parent = group.index.parent_of(block);
      view.blocks.push_back({group.pool.owner(block), group.pool.references(block), group.index.contains(block),
                             parent.has_value(), parent.value_or(BlockId())});
    }
    snapshot.groups.push_back(std::move(view));
  }
  for (const auto& [id, table] : tables_) snapshot.tables.push_back({id, table.computed, table.blocks});
  return snapshot;
}

Reservation::Reservation(Reservation&& other) noexcept
    : cache_(std::exchange(other.cache_, nullptr)), before_(std::move(other.before_)) {}

Reservation::~Reservation() {
  if (cache_ == nullptr) return;
  for (const KvCache::Before& before : before_) {
    const auto it = cache_->tables_.find(before.sequence);
    if (it == cache_->tables_.end()) continue;
    for (std::size_t g = 0; g < cache_->groups_.size(); ++g) cache_->shrink(it->second, g, before.blocks.blocks[g]);
    it->second.computed = before.computed;
  }
  end();
}

// The next reservation has the memory of this one's list.
void Reservation::end() noexcept {
  cache_->before_ = std::move(before_);
  cache_ = nullptr;
}

std::span<const BlockId> Reservation::table(SequenceId sequence, GroupId group) const {
  return cache_->table(sequence, group);
}

void Reservation::commit(std::span<const CommittedTokens> committed) noexcept {
  if (cache_ == nullptr) return;
  for (const KvCache::Before& before : before_) {
    KvCache::Table& table = cache_->tables_.find(before.sequence)->second;
    for (std::size_t g = 0; g < table.blocks.size(); ++g) {
      for (std::size_t i = before.blocks.blocks[g]; i < table.blocks[g].size(); ++i) {
        cache_->groups_[g].pool.commit(table.blocks[g][i]);
      }
    }
  }
  for (const CommittedTokens& tokens : committed) cache_->commit(tokens);
  end();
}

}  // namespace takt
