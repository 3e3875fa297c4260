// What the attention kernels read and write: one KV segment, the queries that share its keys and values, and the merge
// of segments.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kv_type.h"
#include "kernels/numerics.h"

namespace takt {

inline constexpr std::size_t kTilesPerSegment = kAttentionSegment / kAttentionTile;
inline constexpr std::size_t kQueriesPerSegment = 64;  // at most: bounds the scratch memory of a thread

// Positions of the segment that a query sees: [begin, end), from the segment's start.
struct AttendedRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

struct AttendSegment {
  KvType type = KvType::kF16;                         // of keys and values
  const std::byte* key_tiles[kTilesPerSegment] = {};  // [key_dim][16 positions]; only tiles inside some range are read
  const std::byte* value_tiles[kTilesPerSegment] = {};  // [16 positions][value_stride]
  std::size_t key_dim = 0;
  std::size_t value_stride = 0;  // a multiple of 16
  std::size_t queries = 0;       // <= kQueriesPerSegment
  AttendedRange ranges[kQueriesPerSegment];
  float softcap = 0.0F;                   // 0: none
  const float* scaled_queries = nullptr;  // [queries][key_dim], multiplied by the softmax scale
  float* scores = nullptr;                // scratch: [queries][kAttentionSegment]
  float* tile = nullptr;                  // scratch: 16 * max(key_dim, value_stride)
  float* scales = nullptr;                // scratch: 16 for every block of 32 of that
  // Results, where not empty: maximum of the scores, sum of exp(score - maximum), sum of exp(score - maximum) * value.
  float* maxima = nullptr;
  float* sums = nullptr;
  float* values = nullptr;  // [queries][value_stride]
};

// A segment's result as it is kept until the merge: maximum, sum, then value_stride values.
struct MergeSegments {
  const float* partials = nullptr;
  std::size_t partial_stride = 0;
  std::size_t segments = 0;
  std::size_t value_dim = 0;
  float* out = nullptr;
};

struct StoreKeyValue {
  KvType type = KvType::kF16;
  const float* key = nullptr;
  const float* value = nullptr;
  std::size_t key_dim = 0;
  std::size_t value_dim = 0;
  std::size_t value_stride = 0;
  std::byte* key_tile = nullptr;
  std::byte* value_tile = nullptr;
  std::size_t lane = 0;  // position inside the tile
};

}  // namespace takt
