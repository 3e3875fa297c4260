// Settings of KV bookkeeping.
#pragma once

#include "base/clock.h"

namespace takt {

struct KvOptions {
  // Keep full blocks of ended sequences and share them with later requests that begin with the same tokens.
  bool prefix_cache = true;
  // For so long the blocks of a realtime turn that has just ended are the last to be evicted: agents come back within
  // moments. 0: they are like any others.
  Duration linger = std::chrono::seconds(5);
  // Part of the pool's blocks that are kept before all but lingering ones because they were found again and again, such
  // as a system prompt. 0 to 0.9.
  double pinned_share = 0.2;
};

}  // namespace takt
