// A plan with its tokens and block tables: what the executor sees. Owns the storage that the BoundStep's spans point
// to.
#pragma once

#include <deque>
#include <vector>

#include "core/step.h"
#include "engine/sequence_store.h"
#include "kv/kv_cache.h"

namespace takt {

class StepBinding {
 public:
  // Every entry's sequence is in the store and in the reservation. Both must stay as they are while the binding is
  // used.
  StepBinding(const StepPlan& plan, SequenceStore& store, const Reservation& reservation, std::size_t groups);
  StepBinding(const StepBinding&) = delete;
  StepBinding& operator=(const StepBinding&) = delete;

  BoundStep step() const { return {id_, entries_, padding_rows_}; }

 private:
  std::vector<TokenId> prompt_targets(const SequenceRecord& sequence, const PlanEntry& entry) const;

  StepId id_;
  std::uint32_t padding_rows_ = 0;
  std::vector<BoundEntry> entries_;
  std::vector<std::span<const BlockId>> tables_;  // `groups` per entry
  std::deque<std::vector<TokenId>> targets_;
};

}  // namespace takt
