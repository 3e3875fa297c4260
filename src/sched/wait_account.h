// How long the head of one queue waited, by reason. A member of the queue takes the difference between joining and
// leaving, so waiting costs nothing.
#pragma once

#include "base/clock.h"
#include "core/wait_reason.h"

namespace takt {

class WaitAccount {
 public:
  // From `now` on the queue waits for `reason`.
  void set(WaitReason reason, TimePoint now) {
    sums_ = at(now);
    since_ = now;
    reason_ = reason;
  }

  WaitReason reason() const { return reason_; }

  // Sums up to `now`. A queue that nothing held back waits for the step under way to end: step time.
  WaitTimes at(TimePoint now) const {
    WaitTimes sums = sums_;
    const WaitReason reason = reason_ == WaitReason::kNone ? WaitReason::kStepTime : reason_;
    if (now > since_) sums[static_cast<std::size_t>(reason)] += now - since_;
    return sums;
  }

 private:
  WaitTimes sums_{};
  TimePoint since_{};
  WaitReason reason_ = WaitReason::kNone;
};

// `total` += `after` - `before`.
inline void add_difference(WaitTimes& total, const WaitTimes& after, const WaitTimes& before) {
  for (std::size_t i = 0; i < total.size(); ++i) total[i] += after[i] - before[i];
}

}  // namespace takt
