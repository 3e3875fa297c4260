#include "engine/step_binding.h"

#include <algorithm>

namespace takt {

BoundStep StepBinding::bind(const StepPlan& plan, SequenceStore& store, const Reservation& reservation) {
  entries_.clear();
  tables_.clear();
  targets_used_ = 0;
  // Spans of tables point into this list.
  tables_.reserve(plan.entries.size() * groups_);
  for (const PlanEntry& planned : plan.entries) {
    const SequenceRecord& sequence = *store.find(planned.sequence);
    const std::size_t first_table = tables_.size();
    for (std::size_t g = 0; g < groups_; ++g) {
      tables_.push_back(reservation.table(planned.sequence, GroupId(static_cast<std::uint32_t>(g))));
    }
    BoundEntry entry;
    entry.sequence = planned.sequence;
    entry.kind = planned.kind;
    entry.first_position = planned.first_position;
    entry.tokens = std::span(sequence.known).subspan(planned.first_position, planned.token_count);
    entry.tables = std::span(tables_).subspan(first_table, groups_);
    entry.samples = planned.samples;
    entry.suppress_end_tokens = sequence.generated() < sequence.request->request.min_tokens;
    entry.prompt_targets = prompt_targets(sequence, planned);
    entries_.push_back(entry);
  }
  return {plan.id, entries_, plan.features.padding_rows};
}

// Row p scores prompt token p + 1, unless an earlier pass over the prompt did.
std::span<const TokenId> StepBinding::prompt_targets(const SequenceRecord& sequence, const PlanEntry& entry) {
  const EngineRequest& request = sequence.request->request;
  const auto last_scored = static_cast<std::uint32_t>(request.prompt.size()) - 1;
  const std::uint32_t end = entry.first_position + entry.token_count;
  if (!request.prompt_logprobs || sequence.choice != 0 || sequence.scored_rows >= last_scored) return {};
  if (entry.first_position >= last_scored || end <= sequence.scored_rows) return {};
  if (targets_used_ == targets_.size()) targets_.emplace_back();
  std::vector<TokenId>& targets = targets_[targets_used_++];
  targets.assign(entry.token_count, -1);
  for (std::uint32_t p = std::max(entry.first_position, sequence.scored_rows); p < std::min(end, last_scored); ++p) {
    targets[p - entry.first_position] = request.prompt[p + 1];
  }
  return targets;
}

}  // namespace takt
