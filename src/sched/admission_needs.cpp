#include "sched/admission_needs.h"

#include <algorithm>

namespace takt {

namespace {

const CachedPrefix* prefix_in_memory(const CapacityView& view, SequenceId sequence) {
  const auto it = std::find_if(view.prefixes.begin(), view.prefixes.end(),
                               [&](const CachedPrefix& p) { return p.sequence == sequence; });
  return it == view.prefixes.end() ? nullptr : &*it;
}

}  // namespace

AdmissionNeeds needs_of(const ScheduledSequence& s, const SchedulerOptions& options, const CapacityView& view) {
  AdmissionNeeds needs;
  needs.first_position = s.computed;
  GroupCounts held = view.geometry.blocks_for(s.cover);
  if (s.cover == 0) {
    const CachedPrefix* prefix = prefix_in_memory(view, s.facts.id);
    needs.first_position = prefix == nullptr ? 0 : prefix->tokens;
    held = view.geometry.blocks_for(needs.first_position);
    if (prefix != nullptr) needs.blocks = prefix->evictable;
  }
  // The whole prompt, and for a protected sequence all that it may ever need.
  const bool is_protected = s.preemptions_by_own_tier >= options.protect_after;
  needs.cover = std::max({is_protected ? s.facts.limit_tokens : s.known, s.facts.reserve_tokens, s.cover});
  needs.blocks += view.geometry.blocks_for(needs.cover) - held;
  return needs;
}

}  // namespace takt
