#include "kv/kv_cache.h"

#include <gtest/gtest.h>

#include <numeric>

namespace takt {
namespace {

std::vector<TokenId> tokens(std::uint32_t count, TokenId start = 0) {
  std::vector<TokenId> t(count);
  std::iota(t.begin(), t.end(), start);
  return t;
}

std::unique_ptr<KvCache> make(std::vector<KvGroupInfo> groups, BlockHasher hasher = nullptr) {
  return std::move(KvCache::create(std::move(groups), {}, std::move(hasher)).value());
}

// Runs one whole step of one sequence: reserve, commit.
bool compute(KvCache& kv, SequenceId id, const std::vector<TokenId>& known, std::uint32_t first, std::uint32_t end) {
  const ReserveRequest request{id, known, first, end};
  auto reservation = kv.reserve({&request, 1});
  if (!reservation.ok()) return false;
  const CommittedTokens committed{id, known, end};
  reservation.value().commit({&committed, 1});
  return true;
}

void expect_rules_hold(const KvCache& kv) {
  for (const std::string& rule : broken_kv_rules(kv.snapshot())) ADD_FAILURE() << rule;
}

KvSequenceOptions scoped(std::uint64_t scope, bool use_prefix_cache = true) {
  KvSequenceOptions options;
  options.cache_scope = scope;
  options.use_prefix_cache = use_prefix_cache;
  return options;
}

constexpr SequenceId kA(1), kB(2), kC(3);

TEST(KvCache, AReservationThatIsNotCommittedGivesEverythingBack) {
  auto kv = make({{4, 8, 0}});
  kv->open(kA, {});
  const auto known = tokens(10);
  {
    const ReserveRequest request{kA, known, 0, 10};
    auto reservation = kv->reserve({&request, 1});
    ASSERT_TRUE(reservation.ok());
    EXPECT_EQ(reservation.value().table(kA, GroupId(0)).size(), 3U);
    EXPECT_EQ(kv->capacity().free.blocks[0], 5U);
  }
  EXPECT_EQ(kv->capacity().free.blocks[0], 8U);
  expect_rules_hold(*kv);
}

TEST(KvCache, CountsAreWrittenIntoAViewThatKeepsItsLists) {
  auto kv = make({{4, 8, 0}});
  kv->open(kA, {});
  ASSERT_TRUE(compute(*kv, kA, tokens(10), 0, 10));
  CapacityView view;
  view.prefixes.push_back({kB, 4, {}});
  kv->count_into(view);
  EXPECT_EQ(view.total.blocks[0], 8U);
  EXPECT_EQ(view.free.blocks[0], 5U);
  EXPECT_EQ(view.geometry.alignment, kv->capacity().geometry.alignment);
  ASSERT_EQ(view.prefixes.size(), 1U);
  EXPECT_EQ(view.prefixes[0].sequence, kB);
}

TEST(KvCache, AReservationBeyondThePoolIsAnErrorAndLeavesNothingBehind) {
  auto kv = make({{4, 2, 0}});
  kv->open(kA, {});
  const auto known = tokens(12);
  const ReserveRequest request{kA, known, 0, 12};
  const auto reservation = kv->reserve({&request, 1});
  ASSERT_FALSE(reservation.ok());
  EXPECT_EQ(reservation.error().code, ErrorCode::kInternal);
  EXPECT_EQ(kv->capacity().free.blocks[0], 2U);
  expect_rules_hold(*kv);
}

// E8: what a conversation computed is found again by its next turn.
TEST(KvCache, FullBlocksOfAnEndedSequenceAreFoundByTheNextOne) {
  auto kv = make({{4, 8, 0}});
  const auto known = tokens(11);
  kv->open(kA, {});
  ASSERT_TRUE(compute(*kv, kA, known, 0, 11));
  kv->close(kA);
  EXPECT_EQ(kv->capacity().evictable.blocks[0], 2U);
  kv->open(kB, {});
  const CachedPrefix prefix = kv->cached_prefix(kB, known);
  EXPECT_EQ(prefix.tokens, 8U);
  EXPECT_EQ(prefix.evictable.blocks[0], 2U);
  ASSERT_TRUE(compute(*kv, kB, known, 8, 11));
  EXPECT_EQ(kv->capacity().evictable.blocks[0], 0U);
  expect_rules_hold(*kv);
}

TEST(KvCache, TheLastKnownTokenIsNeverTakenFromTheCache) {
  auto kv = make({{4, 8, 0}});
  const auto known = tokens(8);
  kv->open(kA, {});
  ASSERT_TRUE(compute(*kv, kA, known, 0, 8));
  kv->close(kA);
  kv->open(kB, {});
  EXPECT_EQ(kv->cached_prefix(kB, known).tokens, 4U);
}

TEST(KvCache, APrefixIsSharedOnlyInsideItsScopeAndWhenWanted) {
  auto kv = make({{4, 8, 0}});
  const auto known = tokens(9);
  kv->open(kA, scoped(7));
  ASSERT_TRUE(compute(*kv, kA, known, 0, 9));
  kv->open(kB, scoped(8));
  EXPECT_EQ(kv->cached_prefix(kB, known).tokens, 0U);
  kv->open(kC, scoped(7, false));
  EXPECT_EQ(kv->cached_prefix(kC, known).tokens, 0U);
  kv->open(SequenceId(4), scoped(7));
  EXPECT_EQ(kv->cached_prefix(SequenceId(4), known).tokens, 8U);
}

// B13: equal digests of unequal contents are a miss.
TEST(KvCache, AForcedHashCollisionIsAMiss) {
  auto kv = make({{4, 8, 0}}, [](const BlockDigest&, std::span<const TokenId>) { return BlockDigest{1, 1}; });
  const auto known = tokens(5);
  const auto other = tokens(5, 100);
  kv->open(kA, {});
  ASSERT_TRUE(compute(*kv, kA, known, 0, 5));
  kv->open(kB, {});
  EXPECT_EQ(kv->cached_prefix(kB, known).tokens, 4U);
  EXPECT_EQ(kv->cached_prefix(kB, other).tokens, 0U);
  ASSERT_TRUE(compute(*kv, kB, other, 0, 5));  // cannot be indexed; works all the same
  expect_rules_hold(*kv);
  kv->close(kA);
  kv->close(kB);
  EXPECT_EQ(kv->capacity().evictable.blocks[0], 1U);
  expect_rules_hold(*kv);
}

// B13: the same tokens behind another parent are another block.
TEST(KvCache, EqualTokensBehindAnotherParentAreNotAHit) {
  auto kv = make({{2, 8, 0}}, [](const BlockDigest&, std::span<const TokenId> t) {
    return BlockDigest{static_cast<std::uint64_t>(t[0]), 0};
  });
  const std::vector<TokenId> a = {1, 2, 9, 9, 5};
  const std::vector<TokenId> b = {3, 4, 9, 9, 5};
  kv->open(kA, {});
  ASSERT_TRUE(compute(*kv, kA, a, 0, 5));
  kv->open(kB, {});
  ASSERT_TRUE(compute(*kv, kB, b, 0, 2));
  kv->open(kC, {});
  EXPECT_EQ(kv->cached_prefix(kC, b).tokens, 2U);
}

TEST(KvCache, TwoThatComputedTheSameEndUpSharingIt) {
  auto kv = make({{4, 8, 0}});
  const auto known = tokens(9);
  for (const SequenceId id : {kA, kB}) kv->open(id, {});
  ASSERT_TRUE(compute(*kv, kA, known, 0, 9));
  const ReserveRequest request{kB, known, 0, 9};
  kv->close(kC);
  // B started before A had published, so it computes everything itself.
  auto reservation = kv->reserve({&request, 1});
  ASSERT_TRUE(reservation.ok());
  const CommittedTokens committed{kB, known, 9};
  reservation.value().commit({&committed, 1});
  EXPECT_EQ(kv->capacity().free.blocks[0], 8U - 3U - 1U) << "two full blocks are shared, the last ones are not";
  expect_rules_hold(*kv);
}

TEST(KvCache, LeastRecentlyUsedLeavesGoFirst) {
  auto kv = make({{2, 4, 0}});
  const std::vector<TokenId> a = {1, 2, 3, 4};
  const std::vector<TokenId> b = {5, 6, 7, 8};
  kv->open(kA, {});
  ASSERT_TRUE(compute(*kv, kA, a, 0, 4));
  kv->close(kA);
  kv->open(kB, {});
  ASSERT_TRUE(compute(*kv, kB, b, 0, 4));
  kv->close(kB);
  EXPECT_EQ(kv->capacity().evictable.blocks[0], 4U);
  kv->open(kC, {});
  const std::vector<TokenId> c = {9, 9};
  ASSERT_TRUE(compute(*kv, kC, c, 0, 2));  // takes the tail of A
  kv->open(SequenceId(4), {});
  EXPECT_EQ(kv->cached_prefix(SequenceId(4), std::vector<TokenId>{1, 2, 3, 4, 0}).tokens, 2U);
  EXPECT_EQ(kv->cached_prefix(SequenceId(4), std::vector<TokenId>{5, 6, 7, 8, 0}).tokens, 4U);
  expect_rules_hold(*kv);
}

TEST(KvCache, ADroppedTailComesBackFromTheCacheOrIsComputedAgain) {
  auto kv = make({{4, 4, 0}});
  const auto known = tokens(14);
  kv->open(kA, {});
  ASSERT_TRUE(compute(*kv, kA, known, 0, 14));
  EXPECT_EQ(kv->held_tail(kA).exclusive_from, 0U);
  kv->truncate(kA, 8);
  EXPECT_EQ(kv->capacity().free.blocks[0], 1U);
  EXPECT_EQ(kv->capacity().evictable.blocks[0], 1U);
  expect_rules_hold(*kv);
  ASSERT_TRUE(compute(*kv, kA, known, 8, 14));
  EXPECT_EQ(kv->capacity().free.blocks[0], 0U);
  expect_rules_hold(*kv);
}

TEST(KvCache, AForkSharesTheFullBlocksOfItsSource) {
  auto kv = make({{4, 8, 0}});
  const auto prompt = tokens(10);
  kv->open(kA, scoped(0, false));
  ASSERT_TRUE(compute(*kv, kA, prompt, 0, 10));
  KvSequenceOptions fork = scoped(0, false);
  fork.source = kA;
  fork.shared_tokens = 10;
  kv->open(kB, fork);
  EXPECT_EQ(kv->cached_prefix(kB, prompt).tokens, 8U);
  ASSERT_TRUE(compute(*kv, kB, prompt, 8, 10));
  EXPECT_EQ(kv->capacity().free.blocks[0], 8U - 3U - 1U);
  EXPECT_EQ(kv->held_tail(kB).exclusive_from, 8U);
  kv->close(kA);
  expect_rules_hold(*kv);
  kv->close(kB);
  EXPECT_EQ(kv->capacity().free.blocks[0], 8U);
}

// Where nothing may stay in the prefix cache, the forks of a source find its prompt when it is gone, each of them,
// nobody else does, and the last one leaves nothing.
TEST(KvCache, ForksFindThePromptOfASourceThatIsGoneAndNobodyElseDoes) {
  auto kv = make({{4, 12, 0}});
  const auto prompt = tokens(14);
  KvSequenceOptions source = scoped(0, false);
  source.has_forks = true;
  source.shared_tokens = 10;  // and four generated ones
  kv->open(kA, source);
  KvSequenceOptions fork = scoped(0, false);
  fork.source = kA;
  fork.shared_tokens = 10;
  kv->open(kB, fork);
  ASSERT_TRUE(compute(*kv, kA, prompt, 0, 14));
  kv->close(kA, SequenceEnd::kTurnEnded);
  expect_rules_hold(*kv);
  EXPECT_EQ(kv->capacity().evictable.blocks[0], 2U) << "the prompt's full blocks, which anybody may take";
  EXPECT_EQ(kv->cached_prefix(kB, prompt).tokens, 8U);
  EXPECT_EQ(kv->prefix_miss(kB), PrefixMiss::kNone);
  kv->open(kC, scoped(0));
  EXPECT_EQ(kv->cached_prefix(kC, prompt).tokens, 0U);
  ASSERT_TRUE(compute(*kv, kC, prompt, 0, 14));
  kv->close(kC);
  ASSERT_TRUE(compute(*kv, kB, prompt, 8, 14));
  EXPECT_EQ(kv->prefix_miss(kB), PrefixMiss::kOff);
  expect_rules_hold(*kv);
  const std::uint32_t of_others = kv->capacity().evictable.blocks[0];
  kv->truncate(kB, 0);
  EXPECT_EQ(kv->cached_prefix(kB, prompt).tokens, 8U);
  kv->close(kB);
  EXPECT_EQ(kv->capacity().evictable.blocks[0], of_others);
  EXPECT_EQ(kv->capacity().free.blocks[0] + of_others, 12U);
  expect_rules_hold(*kv);
}

// DESIGN 6: a hit is the longest prefix from which EVERY group can go on.
TEST(KvCache, WithTwoGroupsAHitEndsWhereBothCanGoOn) {
  auto kv = make({{4, 16, 0}, {8, 8, 0}});
  EXPECT_EQ(kv->geometry().alignment, 8U);
  const auto known = tokens(13);
  kv->open(kA, {});
  ASSERT_TRUE(compute(*kv, kA, known, 0, 13));
  kv->open(kB, {});
  EXPECT_EQ(kv->cached_prefix(kB, known).tokens, 8U) << "12 tokens are cached in one group, 8 in the other";
  ASSERT_TRUE(compute(*kv, kB, known, 8, 13));
  expect_rules_hold(*kv);
  kv->truncate(kB, 8);
  expect_rules_hold(*kv);
}

TEST(KvCache, AttachedPrefixesAreNotEvictedByTheSameReservation) {
  auto kv = make({{2, 4, 0}});
  const std::vector<TokenId> a = {1, 2, 3, 4, 5};
  kv->open(kA, {});
  ASSERT_TRUE(compute(*kv, kA, a, 0, 4));
  kv->close(kA);
  kv->open(kB, {});
  kv->open(kC, {});
  const std::vector<TokenId> c = {7, 7, 7, 7};
  const ReserveRequest requests[] = {{kC, std::span(c).first(2), 0, 2}, {kB, a, 4, 5}};
  auto reservation = kv->reserve(requests);
  ASSERT_TRUE(reservation.ok());
  const CommittedTokens committed[] = {{kC, c, 2}, {kB, a, 5}};
  reservation.value().commit(committed);
  expect_rules_hold(*kv);
}

TEST(KvCache, BadGroupsAreRefused) {
  EXPECT_FALSE(KvCache::create({}, {}).ok());
  EXPECT_FALSE(KvCache::create({{0, 4, 0}}, {}).ok());
  EXPECT_FALSE(KvCache::create({{16, 0, 0}}, {}).ok());
  EXPECT_FALSE(KvCache::create(std::vector<KvGroupInfo>(5, {16, 4, 0}), {}).ok());
}

TEST(KvRules, EveryKindOfBreachIsNamed) {
  KvSnapshot snapshot;
  snapshot.groups.resize(1);
  KvGroupSnapshot& group = snapshot.groups[0];
  group.block_tokens = 4;
  group.free_count = 1;
  group.blocks.resize(4);
  EXPECT_EQ(broken_kv_rules(snapshot).size(), 1U);  // four are free, one is counted
  group.free_count = 0;
  group.blocks[0].owner = BlockOwner::kReserved;
  group.blocks[1].owner = BlockOwner::kCommitted;  // in no table
  group.blocks[2].owner = BlockOwner::kCached;     // not indexed, not counted
  group.blocks[3].owner = BlockOwner::kCommitted;
  group.blocks[3].references = 2;                      // one table names it
  snapshot.tables.push_back({kA, 9, {{BlockId(3)}}});  // does not reach 9
  EXPECT_EQ(broken_kv_rules(snapshot).size(), 6U);
}

}  // namespace
}  // namespace takt
