// The share of the last minute in which steps ran.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace takt::metrics {

class BusyWindow {
 public:
  static constexpr std::int64_t kWindowSeconds = 60;

  // A step of this length ended at `end`. Times do not go back.
  void add(TimePoint end, Duration busy);

  // In [0, 1]; 0 before the first step. Younger than a minute: the share of the time since the first step began.
  double share(TimePoint now) const;

 private:
  struct Second {
    std::int64_t index = -1;
    Duration busy{0};
  };
  void add_to_second(std::int64_t index, Duration busy);

  std::array<Second, kWindowSeconds + 1> seconds_{};
  std::optional<TimePoint> first_;
};

}  // namespace takt::metrics
