#include "metrics/busy_window.h"

#include <algorithm>

namespace takt::metrics {
namespace {

constexpr Duration kSecond = std::chrono::seconds(1);

std::int64_t second_of(TimePoint at) {
  return at.time_since_epoch() / kSecond;
}

}  // namespace

void BusyWindow::add(TimePoint end, Duration busy) {
  const Duration window = kSecond * kWindowSeconds;
  busy = std::clamp(busy, Duration(0), window);
  const TimePoint begin = end - busy;
  if (!first_) first_ = begin;
  for (TimePoint from = begin; from < end;) {
    const std::int64_t index = second_of(from);
    const TimePoint to = std::min(end, TimePoint(kSecond * (index + 1)));
    add_to_second(index, to - from);
    from = to;
  }
}

void BusyWindow::add_to_second(std::int64_t index, Duration busy) {
  if (index < 0) return;
  Second& second = seconds_[static_cast<std::size_t>(index) % seconds_.size()];
  if (second.index != index) second = {index, Duration(0)};
  second.busy += busy;
}

double BusyWindow::share(TimePoint now) const {
  if (!first_ || now <= *first_) return 0.0;
  const std::int64_t newest = second_of(now);
  const std::int64_t oldest = newest - kWindowSeconds + 1;
  Duration busy{0};
  for (const Second& second : seconds_) {
    if (second.index >= oldest && second.index <= newest) busy += second.busy;
  }
  const TimePoint window_begin = std::max(*first_, TimePoint(kSecond * oldest));
  return std::clamp(to_seconds(busy) / std::max(1e-9, to_seconds(now - window_begin)), 0.0, 1.0);
}

}  // namespace takt::metrics
