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
      if (s.cover > 0) count(s, std::max(s.cover, s.is_decode_row() ? s.computed + 1 : 0));
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
      return promised_to_others(candidate) + growth_to_limit(candidate, cover);
    case AdmissionRule::kPredicted: {
      std::pmr::vector<LengthOutlook> all = outlooks_of_others(candidate);
      all.push_back(outlook(candidate, cover));
      const std::uint64_t tokens = peak_growth(all, view_.geometry.alignment - 1);
      constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
      return watermark + view_.geometry.blocks_for(static_cast<std::uint32_t>(std::min(tokens, kMost)));
    }
  }
  return watermark;
}

// One that waits and holds blocks is among those that were counted at first.
GroupCounts GrowthReserve::promised_to_others(const ScheduledSequence& s) const {
  return s.cover > 0 ? promised_ - growth_to_limit(s, s.cover) : promised_;
}

std::pmr::vector<LengthOutlook> GrowthReserve::outlooks_of_others(const ScheduledSequence& s) const {
  std::pmr::vector<LengthOutlook> others(outlooks_, outlooks_.get_allocator());
  if (s.cover == 0) return others;
  // Equal ones are as good as its own.
  const auto own = std::find(others.begin(), others.end(), outlook(s, s.cover));
  if (own != others.end()) others.erase(own);
  return others;
}

void GrowthReserve::add(const ScheduledSequence& s, std::uint32_t cover) {
  if (s.cover > 0) {
    promised_ = promised_to_others(s);
    outlooks_ = outlooks_of_others(s);
  }
  count(s, cover);
}

void GrowthReserve::count(const ScheduledSequence& s, std::uint32_t cover) {
  if (options_.admission == AdmissionRule::kWorstCase) promised_ += growth_to_limit(s, cover);
  if (options_.admission == AdmissionRule::kPredicted) outlooks_.push_back(outlook(s, cover));
}

}  // namespace takt
