#include "measure/capacity.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace takt::measure {

bool CapacitySearch::carries(const RateTrial& trial) const {
  return !trial.saturated && trial.attainment >= options_.attainment;
}

void CapacitySearch::note(const RateTrial& trial) {
  trials_.push_back(trial);
  if (!trial.valid) return note_invalid(trial);
  // Chance can make a higher rate look carried: then it moves the lower bound and nothing else.
  if (carries(trial)) {
    carried_ = std::max(carried_.value_or(0.0), trial.rate);
  } else {
    too_much_ = std::min(too_much_.value_or(trial.rate), trial.rate);
  }
  if (trials_.size() >= options_.most_tries) {
    next_.reset();
  } else if (!too_much_) {
    next_ = trial.rate * 2.0;
  } else if (!carried_) {
    next_ = trial.rate / 2.0;
  } else if (*too_much_ <= *carried_ * (1.0 + options_.grain)) {
    next_.reset();
  } else {
    next_ = std::sqrt(*carried_ * *too_much_);
  }
}

void CapacitySearch::note_invalid(const RateTrial& trial) {
  const bool twice = trials_.size() > 1 && !std::prev(trials_.end(), 2)->valid;
  if (twice) stopped_at_ = trial.rate;
  next_ = trial.rate;
  if (twice || trials_.size() >= options_.most_tries) next_.reset();
}

Interval CapacitySearch::interval() const {
  double surely = 0.0;
  double perhaps = carried_.value_or(0.0);
  for (const auto& trial : trials_) {
    const bool fit = trial.valid && !trial.saturated;
    if (fit && trial.interval.low >= options_.attainment) surely = std::max(surely, trial.rate);
    if (fit && trial.interval.high >= options_.attainment) perhaps = std::max(perhaps, trial.rate);
  }
  return {std::min(surely, carried_.value_or(0.0)), perhaps};
}

}  // namespace takt::measure
