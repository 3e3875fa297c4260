// Rules between the owners of serving state, checked after every turn where TAKT_CHECK_INVARIANTS is defined. Pure.
#pragma once

#include <string>
#include <vector>

#include "engine/sequence_store.h"
#include "kv/snapshot.h"
#include "kv/swap_ledger.h"
#include "sched/scheduler.h"

namespace takt {

struct MemorySnapshot {
  KvSnapshot kv;
  SwapSnapshot swap;
};

// Every broken rule in words; empty when all hold. `views`: of every sequence (Scheduler::look without a bound). Rules:
// store, scheduler and KV tables know the same sequences; their known and computed tokens and block tables agree; only
// sequences that hold a seat are open in the executor; what never started holds no block; a sequence has as many pages
// of the swap arena as the scheduler counts on, and none while it runs; and the own rules of KV and arena.
std::vector<std::string> broken_rules(const SequenceStore& store, const std::vector<SequenceView>& views,
                                      const MemorySnapshot& memory);

}  // namespace takt
