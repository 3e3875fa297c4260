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

struct CapacityView {
  BlockGeometry geometry;
  GroupCounts total;
  GroupCounts free;
  GroupCounts evictable;               // cached blocks that nobody refers to: they can be taken
  std::vector<CachedPrefix> prefixes;  // of the sequences that Scheduler::queue_heads() named
  std::vector<HeldTail> tails;         // of the sequences that Scheduler::holders() named; empty without memory pressure
};

}  // namespace takt
