// A plan with its tokens and block tables: what the executor sees. Owns the storage that the BoundStep's spans point
// to, and keeps it from one plan to the next.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/step.h"
#include "engine/sequence_store.h"
#include "kv/kv_cache.h"

namespace takt {

class StepBinding {
 public:
  explicit StepBinding(std::size_t groups) : groups_(groups) {}
  StepBinding(const StepBinding&) = delete;
  StepBinding& operator=(const StepBinding&) = delete;

  // Every entry's sequence is in the store and in the reservation. Both must stay as they are while the step is used.
  BoundStep bind(const StepPlan& plan, SequenceStore& store, const Reservation& reservation);

 private:
  std::span<const TokenId> prompt_targets(const SequenceRecord& sequence, const PlanEntry& entry);

  const std::size_t groups_;
  std::vector<BoundEntry> entries_;
  std::vector<std::span<const BlockId>> tables_;  // `groups_` per entry
  std::vector<std::vector<TokenId>> targets_;
  std::size_t targets_used_ = 0;
};

}  // namespace takt
