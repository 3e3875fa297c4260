#include "kv/block_hash.h"

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include <cstring>

#include "base/random.h"

namespace takt {

static_assert(sizeof(HashKey::secret) >= XXH3_SECRET_SIZE_MIN);

HashKey fresh_hash_key() {
  HashKey key;
  for (std::uint64_t& word : key.secret) word = fresh_seed();
  return key;
}

BlockDigest hash_block(const HashKey& key, const BlockDigest& previous, std::span<const TokenId> tokens) {
  // The tokens alone, then the digest of that and of the block before: no copy of the tokens, no streaming state.
  const XXH128_hash_t own =
      XXH3_128bits_withSecret(tokens.data(), tokens.size_bytes(), key.secret.data(), sizeof(key.secret));
  const std::array<std::uint64_t, 5> link = {previous.low, previous.high, own.low64, own.high64, tokens.size()};
  const XXH128_hash_t chained =
      XXH3_128bits_withSecret(link.data(), sizeof(link), key.secret.data(), sizeof(key.secret));
  return {chained.low64, chained.high64};
}

BlockDigest scope_digest(std::uint64_t salt) {
  return {salt, 0x5C09ED1657ULL};
}

}  // namespace takt
