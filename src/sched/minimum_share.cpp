#include "sched/minimum_share.h"

#include <algorithm>

namespace takt {

namespace {

constexpr double kSetAside = 1.1;
// Seconds behind that are worth a change of places, and the most that is made up for.
constexpr double kSeatAfter = 1.0;
constexpr double kMostBehind = 20.0;
// From then on its seats double with every second: whatever its rows cost, it has enough of them soon.
constexpr std::uint32_t kMostDoublings = 12;
// Blocks come slowly: what it holds of them, a stream may need.
constexpr double kMoreBlocksAfter = 2.0;

}  // namespace

double set_aside_for(double share) {
  return share * kSetAside;
}

void MinimumShare::note(const Step& step) noexcept {
  if (!step.batch_works || step.share <= 0.0) {
    behind_ = 0.0;
    seat_ = false;
    return;
  }
  const double time = to_seconds(step.time);
  const double missing = time * (1.0 - step.part / step.share);
  // Who has less than its share and all that it can use forgets what it once lacked.
  const bool is_content = missing > 0.0 && !step.wants_more;
  behind_ = std::clamp(behind_ + (is_content ? -time : missing), 0.0, kMostBehind);
  if (behind_ >= kSeatAfter) seat_ = true;
  if (behind_ <= 0.0) seat_ = false;
}

OwedParts MinimumShare::owed() const {
  if (!seat_) return {};
  const auto seconds = static_cast<std::uint32_t>(std::max(0.0, behind_ - kSeatAfter));
  return {1U << std::min(seconds, kMostDoublings), 1 + static_cast<std::uint32_t>(behind_ / kMoreBlocksAfter)};
}

}  // namespace takt
