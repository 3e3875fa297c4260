#include "sched/growth_reserve.h"

#include <algorithm>
#include <limits>

#include "sched/admission.h"

namespace takt {

GrowthReserve::GrowthReserve(const SchedulerOptions& options, const CapacityView& view, const SequencePlaces& places,
                             const LengthForecast& forecast)
    : options_(options), view_(view), forecast_(forecast), outlooks_(places.memory) {
  if (options.admission == AdmissionRule::kGreedy) return;
  const auto add_all = [&](const SequenceList& list) {
    for (const ScheduledSequence& s : list) {
      // A decode row of this plan has taken its block already.
      if (s.cover > 0) add(s, std::max(s.cover, s.is_decode_row() ? s.computed + 1 : 0));
    }
  };
  add_all(places.running);
  for (const TierQueues& queues : places.tiers) add_all(queues.resuming);
}

GroupCounts GrowthReserve::growth_to_limit(const ScheduledSequence& s, std::uint32_t cover) const {
  return view_.geometry.blocks_for(s.facts.limit_tokens) - view_.geometry.blocks_for(cover);
}

LengthOutlook GrowthReserve::outlook(const ScheduledSequence& s, std::uint32_t cover) const {
  const std::uint32_t generated = s.known - std::min(s.known, s.facts.prompt_tokens);
  const std::uint32_t limit = s.facts.limit_tokens - std::min(s.facts.limit_tokens, s.facts.prompt_tokens);
  return {cover, s.known, forecast_.remaining(generated, limit)};
}

GroupCounts GrowthReserve::beside(const ScheduledSequence& candidate, std::uint32_t cover) const {
  if (options_.reserve != KvReserve::kPaged) return {};  // nobody grows: a watermark would only keep seats empty
  const GroupCounts watermark = watermark_blocks(view_.total, options_.watermark);
  switch (options_.admission) {
    case AdmissionRule::kGreedy:
      break;
    case AdmissionRule::kWorstCase:
      return promised_ + growth_to_limit(candidate, cover);
    case AdmissionRule::kPredicted: {
      std::pmr::vector<LengthOutlook> all(outlooks_, outlooks_.get_allocator());
      all.push_back(outlook(candidate, cover));
      const std::uint64_t tokens = peak_growth(all, view_.geometry.alignment - 1);
      constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
      return watermark + view_.geometry.blocks_for(static_cast<std::uint32_t>(std::min(tokens, kMost)));
    }
  }
  return watermark;
}

void GrowthReserve::add(const ScheduledSequence& s, std::uint32_t cover) {
  if (options_.admission == AdmissionRule::kWorstCase) promised_ += growth_to_limit(s, cover);
  if (options_.admission == AdmissionRule::kPredicted) outlooks_.push_back(outlook(s, cover));
}

}  // namespace takt
