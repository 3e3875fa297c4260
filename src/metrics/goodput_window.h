// Goodput of the last minutes: what was offered and what met its targets, by when it ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "measure/goodput.h"

namespace takt::metrics {

class GoodputWindow {
 public:
  static constexpr Duration kSlot = std::chrono::seconds(10);
  static constexpr std::size_t kSlots = 361;  // an hour, and the slot that is being filled

  // Times do not go back.
  void count(TimePoint at, const measure::RequestRecord& record);

  // Of the last `window` (at most an hour), in whole slots: up to one slot more.
  measure::Goodput over(TimePoint now, Duration window) const;

 private:
  struct Slot {
    std::int64_t index = -1;
    measure::Goodput goodput;
  };
  std::array<Slot, kSlots> slots_{};
};

}  // namespace takt::metrics
