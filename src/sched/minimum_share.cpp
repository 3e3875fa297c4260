#include "sched/minimum_share.h"

#include <algorithm>

namespace takt {

namespace {

// A slice that is worth a change of places, and the most that is saved up.
constexpr double kSeatAfter = 0.25;
constexpr double kMostOwed = 5.0;
constexpr double kOneMoreAfter = 0.5;

}  // namespace

void MinimumShare::note(const Step& step) noexcept {
  if (!step.batch_works) {
    owed_seconds_ = 0.0;
    seat_ = false;
    return;
  }
  owed_seconds_ = std::clamp(owed_seconds_ + to_seconds(step.time) * (step.share - step.part), 0.0, kMostOwed);
  if (owed_seconds_ >= kSeatAfter) seat_ = true;
  if (owed_seconds_ <= 0.0) seat_ = false;
}

std::uint32_t MinimumShare::owed_seats() const {
  return seat_ ? 1 + static_cast<std::uint32_t>(owed_seconds_ / kOneMoreAfter) : 0;
}

}  // namespace takt
