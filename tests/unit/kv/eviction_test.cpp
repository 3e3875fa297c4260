// Which cached blocks make room first, and why a prompt was not found.
#include <gtest/gtest.h>

#include <numeric>

#include "kv/kv_cache.h"

namespace takt {
namespace {

using std::chrono::seconds;

constexpr std::uint32_t kBlock = 4;

class Cache {
 public:
  explicit Cache(std::uint32_t blocks, KvOptions options = {})
      : kv(std::move(KvCache::create({{kBlock, blocks, 0}}, options).value())) {}

  // A sequence of `blocks` whole blocks of tokens from `start` on: computed, then ended.
  void run(TokenId start, std::uint32_t blocks, Tier tier = Tier::kRealtime, SequenceEnd end = SequenceEnd::kGone) {
    KvSequenceOptions options;
    options.tier = tier;
    run(start, blocks, options, end);
  }
  // The same, whose first `pinned` blocks are pinned by name.
  void run_pinned(TokenId start, std::uint32_t blocks, std::uint32_t pinned) {
    KvSequenceOptions options;
    options.pinned_tokens = pinned * kBlock + 1;
    run(start, blocks, options, SequenceEnd::kGone);
  }
  void run(TokenId start, std::uint32_t blocks, const KvSequenceOptions& options, SequenceEnd end) {
    std::vector<TokenId> known = tokens(start, blocks);
    known.push_back(-1);  // so that every whole block can be shared
    const SequenceId id(++last_);
    kv->open(id, options);
    const std::uint32_t cached = kv->cached_prefix(id, known).tokens;
    const ReserveRequest request{id, known, cached, blocks * kBlock};
    auto reservation = kv->reserve({&request, 1});
    ASSERT_TRUE(reservation.ok()) << reservation.error().message;
    miss = kv->prefix_miss(id);
    const CommittedTokens committed{id, known, blocks * kBlock};
    reservation.value().commit({&committed, 1});
    kv->close(id, end);
    for (const std::string& rule : broken_kv_rules(kv->snapshot())) ADD_FAILURE() << rule;
    expect_sum();
  }

  // Every cached block is of one kind.
  void expect_sum() const {
    const IdleBlocks idle = kv->idle_blocks();
    EXPECT_EQ(idle.lingering + idle.pinned + idle.realtime + idle.batch, kv->capacity().evictable.blocks[0]);
  }

  // Whole blocks of the same tokens that are still there.
  std::uint32_t found(TokenId start, std::uint32_t blocks) {
    std::vector<TokenId> known = tokens(start, blocks);
    known.push_back(-1);  // so that the last block may be found too
    const SequenceId id(++last_);
    kv->open(id, {});
    const std::uint32_t cached = kv->cached_prefix(id, known).tokens;
    kv->close(id);
    return cached / kBlock;
  }

  static std::vector<TokenId> tokens(TokenId start, std::uint32_t blocks) {
    std::vector<TokenId> t(std::size_t{blocks} * kBlock);
    std::iota(t.begin(), t.end(), start);
    return t;
  }

  std::unique_ptr<KvCache> kv;
  PrefixMiss miss = PrefixMiss::kNone;

 private:
  std::uint64_t last_ = 0;
};

KvOptions plain() {
  KvOptions options;
  options.linger = Duration::zero();
  options.pinned_share = 0;
  return options;
}

TEST(Eviction, TheLeastRecentlyUsedLeafGoesFirst) {
  Cache c(6, plain());
  c.run(1000, 2);
  c.run(2000, 2);
  c.run(3000, 2);
  c.run(4000, 1);
  EXPECT_EQ(c.found(1000, 2), 1U) << "its tail went";
  EXPECT_EQ(c.found(2000, 2), 2U);
}

TEST(Eviction, ABatchSequencesBlocksGoBeforeARealtimeOnes) {
  Cache c(8, plain());
  c.run(1000, 2, Tier::kRealtime);
  for (TokenId sweep = 0; sweep < 12; ++sweep) c.run(10000 + sweep * 100, 2, Tier::kBatch);
  EXPECT_EQ(c.found(1000, 2), 2U) << "a sweep passed by";
  for (TokenId sweep = 0; sweep < 20; ++sweep) c.run(20000 + sweep * 100, 2, Tier::kRealtime);
  EXPECT_EQ(c.found(1000, 2), 0U) << "not for ever";
}

TEST(Eviction, WhatARealtimeSequenceNoLongerNeedsDoesNotKeepBatchWorkOutForEver) {
  Cache c(8, plain());
  for (TokenId old = 0; old < 4; ++old) c.run(1000 + old * 100, 2, Tier::kRealtime);
  for (TokenId sweep = 0; sweep < 50; ++sweep) c.run(10000 + sweep * 100, 2, Tier::kBatch);
  EXPECT_EQ(c.found(10000 + 49 * 100, 2) + c.found(10000 + 48 * 100, 2), 4U);
}

// B21: a warm prefix, a hundred one-off prompts, the warm prefix again.
TEST(Eviction, APrefixThatWasFoundAgainAndAgainOutlivesOneOffPrompts) {
  for (const double share : {0.0, 0.5}) {
    KvOptions options = plain();
    options.pinned_share = share;
    Cache c(16, options);
    for (int i = 0; i < 4; ++i) c.run(1000, 4);
    for (TokenId sweep = 0; sweep < 100; ++sweep) c.run(10000 + sweep * 100, 3);
    EXPECT_EQ(c.found(1000, 4), share > 0 ? 4U : 0U);
  }
}

TEST(Eviction, PinnedBlocksHaveAShareAndMakeRoomForNewOnes) {
  KvOptions options = plain();
  options.pinned_share = 0.25;
  Cache c(16, options);
  for (TokenId prefix = 0; prefix < 6; ++prefix) {
    for (int i = 0; i < 4; ++i) c.run(1000 + prefix * 100, 2);
  }
  for (TokenId sweep = 0; sweep < 100; ++sweep) c.run(10000 + sweep * 100, 3);
  std::uint32_t kept = 0;
  for (TokenId prefix = 0; prefix < 6; ++prefix) kept += c.found(1000 + prefix * 100, 2);
  EXPECT_LE(kept, 4U);
  EXPECT_EQ(c.found(1000 + 5 * 100, 2), 2U) << "the last one";
}

// B21: a system prompt that is pinned by name stays from its first use on, before those that were only found often, and
// with its share full the least recently used one makes room.
TEST(Eviction, WhatIsPinnedByNameStaysFromItsFirstUseOn) {
  KvOptions options = plain();
  options.pinned_share = 0.5;
  Cache c(16, options);
  c.run_pinned(1000, 6, 4);
  for (TokenId found_often = 0; found_often < 4; ++found_often) {
    for (int i = 0; i < 4; ++i) c.run(2000 + found_often * 100, 2);
  }
  for (TokenId sweep = 0; sweep < 100; ++sweep) c.run(10000 + sweep * 100, 3);
  EXPECT_EQ(c.found(1000, 6), 4U) << "the whole blocks of its pinned tokens, not what follows";
  EXPECT_LE(c.kv->pinned_blocks(), 8U);
  for (TokenId other = 0; other < 3; ++other) c.run_pinned(5000 + other * 100, 4, 4);
  for (TokenId sweep = 0; sweep < 100; ++sweep) c.run(20000 + sweep * 100, 3);
  EXPECT_EQ(c.found(1000, 4), 0U) << "newer ones fill the share";
  EXPECT_EQ(c.found(5200, 4), 4U);
}

TEST(Eviction, TheShareOfPinnedBlocksAndTheTimeThatTurnsLingerMayChange) {
  KvOptions options = plain();
  options.pinned_share = 0.5;
  Cache c(16, options);
  c.run_pinned(1000, 4, 4);
  EXPECT_EQ(c.kv->pinned_blocks(), 4U);
  options.pinned_share = 0;
  options.linger = seconds(5);
  c.kv->set_options(options);
  EXPECT_EQ(c.kv->pinned_blocks(), 0U);
  c.kv->tick(TimePoint(seconds(100)));
  c.run(3000, 2, Tier::kRealtime, SequenceEnd::kTurnEnded);
  for (TokenId sweep = 0; sweep < 100; ++sweep) c.run(10000 + sweep * 100, 3);
  EXPECT_EQ(c.found(1000, 4), 0U);
  EXPECT_EQ(c.found(3000, 2), 2U);
}

// H14: an agent comes back within moments.
TEST(Eviction, ATurnThatHasJustEndedIsTheLastToGoForAWhile) {
  KvOptions options = plain();
  options.linger = seconds(5);
  Cache c(8, options);
  c.kv->tick(TimePoint(seconds(100)));
  c.run(1000, 2, Tier::kRealtime, SequenceEnd::kTurnEnded);
  for (TokenId sweep = 0; sweep < 20; ++sweep) c.run(10000 + sweep * 100, 2);
  c.kv->tick(TimePoint(seconds(104)));
  EXPECT_EQ(c.found(1000, 2), 2U);
  c.kv->tick(TimePoint(seconds(105)));
  for (TokenId sweep = 0; sweep < 20; ++sweep) c.run(20000 + sweep * 100, 2);
  EXPECT_EQ(c.found(1000, 2), 0U);
}

TEST(Eviction, LingeringBlocksHoldUpNobody) {
  KvOptions options = plain();
  options.linger = seconds(5);
  Cache c(4, options);
  for (TokenId turn = 0; turn < 10; ++turn) c.run(1000 + turn * 100, 4, Tier::kRealtime, SequenceEnd::kTurnEnded);
  EXPECT_EQ(c.found(1000 + 9 * 100, 4), 4U);
  EXPECT_EQ(c.kv->capacity().free.blocks[0] + c.kv->capacity().evictable.blocks[0], 4U);
}

TEST(Eviction, CachedBlocksAreCountedByWhatKeepsThem) {
  Cache cache(12, {.linger = seconds(5), .pinned_share = 0.5});
  cache.kv->tick(TimePoint(seconds(10)));
  cache.run(0, 2, Tier::kRealtime);
  cache.run(100, 3, Tier::kBatch);
  cache.run_pinned(200, 2, 1);
  cache.run(300, 3, Tier::kRealtime, SequenceEnd::kTurnEnded);
  const auto counts = [&] {
    cache.expect_sum();
    const IdleBlocks idle = cache.kv->idle_blocks();
    return std::vector<std::uint32_t>{idle.lingering, idle.pinned, idle.realtime, idle.batch};
  };
  EXPECT_EQ(counts(), (std::vector<std::uint32_t>{3, 1, 3, 3}));
  EXPECT_EQ(cache.kv->last_linger_end(), TimePoint(seconds(15)));
  cache.kv->tick(TimePoint(seconds(14)));
  EXPECT_EQ(counts()[0], 3U);
  cache.kv->tick(TimePoint(seconds(15)));
  EXPECT_EQ(counts(), (std::vector<std::uint32_t>{0, 1, 6, 3}));
  cache.run(300, 3, Tier::kRealtime, SequenceEnd::kTurnEnded);  // found, used, and idle again
  EXPECT_EQ(counts(), (std::vector<std::uint32_t>{3, 1, 3, 3}));
  cache.run(400, 12, Tier::kBatch);  // everything else makes room
  EXPECT_EQ(counts(), (std::vector<std::uint32_t>{0, 0, 0, 12}));
}

TEST(Eviction, ABatchTurnDoesNotLinger) {
  KvOptions options = plain();
  options.linger = seconds(5);
  Cache c(4, options);
  c.run(1000, 2, Tier::kBatch, SequenceEnd::kTurnEnded);
  c.run(2000, 2, Tier::kRealtime);
  c.run(3000, 2, Tier::kRealtime);
  EXPECT_EQ(c.found(1000, 2), 0U);
}

// E8: every miss has a reason.
TEST(PrefixMisses, EveryMissHasItsReason) {
  Cache c(8, plain());
  c.run(1000, 3);
  EXPECT_EQ(c.miss, PrefixMiss::kUnknown);
  c.run(1000, 3);
  EXPECT_EQ(c.miss, PrefixMiss::kNone);
  c.run(1000, 6);
  EXPECT_EQ(c.miss, PrefixMiss::kNew);

  // The same first block, then something else.
  std::vector<TokenId> known = Cache::tokens(1000, 3);
  for (std::size_t i = kBlock; i < known.size(); ++i) known[i] += 5000;
  c.kv->open(SequenceId(900), {});
  const ReserveRequest request{SequenceId(900), known, kBlock, 3 * kBlock};
  { ASSERT_TRUE(c.kv->reserve({&request, 1}).ok()); }
  EXPECT_EQ(c.kv->prefix_miss(SequenceId(900)), PrefixMiss::kDiverged);
  c.kv->close(SequenceId(900));

  Cache small(8, plain());
  small.run(1000, 3);
  for (TokenId sweep = 0; sweep < 4; ++sweep) small.run(10000 + sweep * 100, 2);
  small.run(1000, 3);
  EXPECT_EQ(small.miss, PrefixMiss::kEvicted);

  KvOptions off = plain();
  off.prefix_cache = false;
  Cache without(8, off);
  without.run(1000, 3);
  EXPECT_EQ(without.miss, PrefixMiss::kOff);
}

}  // namespace
}  // namespace takt
