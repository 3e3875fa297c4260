// How keys and values lie in a KV block.
//
// A block holds block_tokens positions of all layers. Per layer and KV head it is a row of tiles of 16 positions; a
// tile is the keys as [key_dim][16 positions], then the values as [16 positions][value_dim, padded to a multiple of
// 16].
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "kernels/numerics.h"

namespace takt {

enum class KvType : std::uint8_t { kF16, kF32 };

struct KvLayout {
  KvType type = KvType::kF16;
  std::uint32_t layers = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t key_dim = 0;  // per head
  std::uint32_t value_dim = 0;
  std::uint32_t block_tokens = 16;

  // kInvalidArgument: something is zero or absurdly large, block_tokens is no multiple of 16.
  Status check() const;

  std::size_t value_bytes() const { return type == KvType::kF16 ? 2 : 4; }
  std::size_t value_stride() const { return (value_dim + kLanes - 1) / kLanes * kLanes; }
  std::size_t key_tile_bytes() const { return std::size_t{key_dim} * kAttentionTile * value_bytes(); }
  std::size_t tile_bytes() const { return key_tile_bytes() + value_stride() * kAttentionTile * value_bytes(); }
  std::size_t block_bytes() const { return tile_bytes() * (block_tokens / kAttentionTile) * kv_heads * layers; }

  // From the block's start to the keys of the tile that holds position `token` of the block; the values follow after
  // key_tile_bytes().
  std::size_t tile_offset(std::uint32_t layer, std::uint32_t head, std::uint32_t token) const {
    const std::size_t tiles = block_tokens / kAttentionTile;
    return ((std::size_t{layer} * kv_heads + head) * tiles + token / kAttentionTile) * tile_bytes();
  }
};

}  // namespace takt
