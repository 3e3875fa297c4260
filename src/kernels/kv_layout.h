// How keys and values lie in a KV block.
//
// A block holds block_tokens positions of all layers. Per layer and KV head it is a row of tiles of 16 positions; a
// tile is the keys as [key_dim][16 positions], then the values as [16 positions][value_dim, padded to a multiple of
// 16]. With Q8_0 the scales lie behind the keys and behind the values, each as [block of 32][16 positions]; a head's
// last block may be shorter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "kernels/kv_type.h"
#include "kernels/numerics.h"

namespace takt {

// "f16", "f32", "q8_0": as the setting has it.
std::string_view kv_type_name(KvType type);

struct KvLayout {
  KvType type = KvType::kF16;
  std::uint32_t layers = 0;
  std::uint32_t kv_heads = 0;
  std::uint32_t key_dim = 0;  // per head
  std::uint32_t value_dim = 0;
  std::uint32_t block_tokens = 16;

  // kInvalidArgument: something is zero or absurdly large, block_tokens is no multiple of 16.
  Status check() const;

  // Scales of a key or value of `width` values, with Q8_0.
  static std::size_t scales_of(std::size_t width) { return (width + kKvBlock - 1) / kKvBlock; }

  std::size_t value_stride() const { return (value_dim + kLanes - 1) / kLanes * kLanes; }
  std::size_t key_tile_bytes() const { return stored_bytes(key_dim); }
  std::size_t tile_bytes() const { return key_tile_bytes() + stored_bytes(value_stride()); }
  std::size_t block_bytes() const { return tile_bytes() * (block_tokens / kAttentionTile) * kv_heads * layers; }

  // From the block's start to the keys of the tile that holds position `token` of the block; the values follow after
  // key_tile_bytes().
  std::size_t tile_offset(std::uint32_t layer, std::uint32_t head, std::uint32_t token) const {
    const std::size_t tiles = block_tokens / kAttentionTile;
    return ((std::size_t{layer} * kv_heads + head) * tiles + token / kAttentionTile) * tile_bytes();
  }

 private:
  // Of 16 positions of `width` values.
  std::size_t stored_bytes(std::size_t width) const {
    const std::size_t values = width * kAttentionTile;
    switch (type) {
      case KvType::kF16:
        return values * sizeof(std::uint16_t);
      case KvType::kF32:
        return values * sizeof(float);
      case KvType::kQ8_0:
        return values + scales_of(width) * kAttentionTile * sizeof(std::uint16_t);
    }
    return 0;
  }
};

}  // namespace takt
