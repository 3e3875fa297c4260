#include "metrics/goodput_window.h"

#include <algorithm>

namespace takt::metrics {
namespace {

std::int64_t slot_of(TimePoint at) {
  return at.time_since_epoch() / GoodputWindow::kSlot;
}

}  // namespace

void GoodputWindow::count(TimePoint at, const measure::RequestRecord& record) {
  const std::int64_t index = std::max<std::int64_t>(0, slot_of(at));
  Slot& slot = slots_[static_cast<std::size_t>(index) % kSlots];
  if (slot.index != index) slot = {index, {}};
  measure::count(slot.goodput, record);
}

measure::Goodput GoodputWindow::over(TimePoint now, Duration window) const {
  const std::int64_t newest = slot_of(now);
  const std::int64_t oldest = newest - window / kSlot;
  measure::Goodput sum;
  for (const Slot& slot : slots_) {
    if (slot.index < oldest || slot.index > newest) continue;
    sum.offered += slot.goodput.offered;
    sum.cancelled += slot.goodput.cancelled;
    sum.met += slot.goodput.met;
    sum.met_tokens += slot.goodput.met_tokens;
  }
  return sum;
}

}  // namespace takt::metrics
