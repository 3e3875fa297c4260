// Rules between the owners of serving state, checked after every turn where TAKT_CHECK_INVARIANTS is defined. Pure.
#pragma once

#include <string>
#include <vector>

#include "engine/sequence_store.h"
#include "kv/snapshot.h"
#include "sched/scheduler.h"

namespace takt {

// Every broken rule in words; empty when all hold. `views`: of every sequence (Scheduler::look without a bound). Rules:
// store, scheduler and KV tables know the same sequences; their known and computed tokens and block tables agree; only
// sequences that hold a seat are open in the executor; what never started holds no block; and KV's own rules.
std::vector<std::string> broken_rules(const SequenceStore& store, const std::vector<SequenceView>& views,
                                      const KvSnapshot& kv);

}  // namespace takt
