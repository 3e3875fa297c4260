#include "sched/beat_guard.h"

#include <algorithm>

#include "sched/budget.h"

namespace takt {

BeatGuard::BeatGuard(const SchedulerOptions& options, const StepTimeModel& model, const SequencePlaces& places)
    : options_(options), model_(model), single_row_(model.predict(with_rows({}, 0, 1))) {
  for (const ScheduledSequence& s : places.running) add(s);
}

// A closed batch is measured as it is.
bool BeatGuard::counts(const ScheduledSequence& s) const {
  if (options_.decode_share <= 0.0 || options_.join == JoinRule::kWhenEmpty) return false;
  return s.facts.tier == Tier::kRealtime && s.facts.limit_tokens > s.facts.prompt_tokens + 1;
}

StepFeatures BeatGuard::with_row_of(const ScheduledSequence& s) const {
  StepFeatures features = with_rows(rows_, s.known - std::min(s.known, 1U), 1);
  ++features.decode_rows;
  ++features.logits_rows;
  return features;
}

std::optional<Duration> BeatGuard::limit_of(const ScheduledSequence& s) const {
  const Duration target = std::max<Duration>(s.facts.itl_target, std::chrono::milliseconds(1));
  const Duration limit = from_seconds(to_seconds(target) * options_.decode_share);
  if (single_row_ >= limit) return std::nullopt;
  return limit;
}

bool BeatGuard::leaves_time_for(const ScheduledSequence& s) const {
  if (!counts(s) || rows_.tokens == 0) return true;
  std::optional<Duration> limit = limit_of(s);
  if (tightest_) limit = limit ? std::min(*limit, *tightest_) : *tightest_;
  return !limit || model_.predict(with_row_of(s)) < *limit;
}

void BeatGuard::add(const ScheduledSequence& s) {
  if (!counts(s)) return;
  rows_ = with_row_of(s);
  if (const std::optional<Duration> limit = limit_of(s)) tightest_ = tightest_ ? std::min(*tightest_, *limit) : *limit;
}

}  // namespace takt
