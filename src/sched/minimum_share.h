// Keeps account of the step time that the batch tier is owed. Its part of a step is what its entries add to it, in
// proportion to what all entries add.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace takt {

class MinimumShare {
 public:
  struct Step {
    bool batch_works = false;  // it had something that could run
    double share = 0.0;        // of step time that it is to have
    double part = 0.0;         // of this step that it had
    Duration time{0};
  };
  void note(const Step& step) noexcept;

  // It has had less than its share: a realtime step gives it a piece all the same.
  bool is_behind() const { return owed_seconds_ > 0.0; }
  // So much less that it keeps its seats, or gets those that become free, until it has what it is owed. How many times
  // its share of the seats: the longer it stays behind, the more, since few rows may not make up a share of the time.
  std::uint32_t owed_seats() const;

 private:
  double owed_seconds_ = 0.0;
  bool seat_ = false;
};

}  // namespace takt
