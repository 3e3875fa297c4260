// The hash that blocks are found by.
#include "kv/block_hash.h"

#include <gtest/gtest.h>

#include <vector>

namespace takt {
namespace {

const std::vector<TokenId> kTokens = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

// B13: who does not know the key cannot tell a digest, so nobody can construct a block that is taken for another's.
TEST(BlockHash, TheSameBlockHasAnotherDigestUnderEveryFreshKey) {
  std::vector<BlockDigest> digests;
  for (int i = 0; i < 100; ++i) {
    const BlockDigest digest = hash_block(fresh_hash_key(), scope_digest(0), kTokens);
    for (const BlockDigest& other : digests) EXPECT_NE(digest, other);
    digests.push_back(digest);
  }
}

TEST(BlockHash, EveryTokenTheBlockBeforeAndTheScopeCount) {
  const HashKey key = fresh_hash_key();
  const BlockDigest digest = hash_block(key, scope_digest(0), kTokens);
  EXPECT_EQ(hash_block(key, scope_digest(0), kTokens), digest);
  EXPECT_NE(hash_block(key, scope_digest(1), kTokens), digest);
  EXPECT_NE(hash_block(key, digest, kTokens), digest);
  for (std::size_t i = 0; i < kTokens.size(); ++i) {
    std::vector<TokenId> changed = kTokens;
    ++changed[i];
    EXPECT_NE(hash_block(key, scope_digest(0), changed), digest) << "token " << i;
  }
}

}  // namespace
}  // namespace takt
