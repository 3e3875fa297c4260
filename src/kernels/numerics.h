// The constants of the canonical arithmetic (docs/numerics.md). Whatever changes one of them changes answers: it needs
// an ADR and raises kNumericsVersion.
#pragma once

#include <cstddef>

namespace takt {

inline constexpr int kNumericsVersion = 2;

inline constexpr std::size_t kLanes = 16;  // virtual lanes of every vectorised function; output rows of a weight stripe
inline constexpr std::size_t kActivationBlock = 32;  // activations that share a scale
inline constexpr std::size_t kAttentionTile = 16;    // KV positions of a tile
// KV positions, at fixed absolute places, that are summed before merging.
inline constexpr std::size_t kAttentionSegment = 512;
inline constexpr std::size_t kKvBlock = 32;  // values of a head's key or value that share a scale (KvType::kQ8_0)

// Blocks of activations whose largest magnitude is below this count as zero: its reciprocal must stay finite.
inline constexpr float kSmallestActivation = 0x1p-100F;

}  // namespace takt
