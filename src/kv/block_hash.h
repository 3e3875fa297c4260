// Keyed 128-bit hash of a block's tokens, chained over the blocks before it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/ids.h"

namespace takt {

struct BlockDigest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const BlockDigest&) const = default;
};

// A process's own secret: nobody outside can construct collisions.
struct HashKey {
  std::array<std::uint64_t, 24> secret{};
};
HashKey fresh_hash_key();

// `previous`: digest of the block before, or of the scope (see scope_digest) for a first block. XXH3, 128 bits, with
// the key as its secret.
BlockDigest hash_block(const HashKey& key, const BlockDigest& previous, std::span<const TokenId> tokens);

// What the first block of a scope is chained to.
BlockDigest scope_digest(std::uint64_t salt);

}  // namespace takt
