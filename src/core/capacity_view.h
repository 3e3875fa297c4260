// What memory allows, as planning sees it: made by `kv` before a plan, read by `sched`. Numbers only.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "core/kv_group.h"

namespace takt {

// The longest prefix of a queued sequence that is in memory already and can be shared.
struct CachedPrefix {
  SequenceId sequence;
  std::uint32_t tokens = 0;  // a multiple of the geometry's alignment, less than the sequence's known tokens
  GroupCounts evictable;     // blocks of it that nobody refers to: sharing them takes them from `evictable`
};

// How far the tail of a sequence can be dropped with a gain.
struct HeldTail {
  SequenceId sequence;
  std::uint32_t exclusive_from = 0;  // aligned; every block behind it is held by this sequence alone
};

// Blocks of a sequence that those named before it in its class hold too.
struct SharedBlocks {
  SequenceId sequence;
  GroupCounts blocks;
};

// Tokens of a sequence, from its computed ones on, that have been read from the arena and can be copied back now.
struct SwapArrival {
  SequenceId sequence;
  std::uint32_t pages = 0;
};

// The swap arena. A page holds `alignment` positions of one sequence in every group.
struct SwapView {
  std::uint32_t total_pages = 0;  // 0: there is no arena
  std::uint32_t free_pages = 0;
  std::uint32_t out_pages = 0;  // that can be copied out now
  // Measured, per page: until it has left, and until it is back.
  double out_seconds = 0.0;
  double in_seconds = 0.0;
  std::vector<SwapArrival> arrivals;  // of sequences that a plan named to be fetched
};

struct CapacityView {
  BlockGeometry geometry;
  GroupCounts total;
  GroupCounts free;
  GroupCounts evictable;               // cached blocks that nobody refers to: they can be taken
  std::vector<CachedPrefix> prefixes;  // of the sequences that Scheduler::queue_heads() named
  std::vector<HeldTail> tails;  // of the sequences that Scheduler::holders() named; empty without memory pressure
  // Of the sequences that Scheduler::members_of_limited_classes() named, those that share some: a class has a block
  // once, however many of its members do.
  std::vector<SharedBlocks> shared;
  SwapView swap;
};

}  // namespace takt
