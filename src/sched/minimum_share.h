// Keeps account of the step time that the batch tier is owed. Its part of a step is what its entries add to it, in
// proportion to what all entries add.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace takt {

// What is set aside for a tier with this minimum share: a tenth more, so that what it has to wait for at first, and
// whenever it is behind, is made up within the minute over which the share is promised.
double set_aside_for(double share);

// What the batch tier keeps or gets, as multiples of its share of the seats and of the blocks.
struct OwedParts {
  std::uint32_t seats = 0;
  std::uint32_t blocks = 0;
};

class MinimumShare {
 public:
  struct Step {
    bool batch_works = false;  // it had something that could run
    bool wants_more = false;   // some of that could have used more than it got, for all that its own ceilings allow
    double share = 0.0;        // of step time that is set aside for it
    double part = 0.0;         // of this step that it had
    Duration time{0};
  };
  void note(const Step& step) noexcept;

  // It has had less than its share: a realtime step gives it a piece all the same.
  bool is_behind() const { return behind_ > 0.0; }
  // So far behind that it keeps its seats, or gets those that become free, until it has what it is owed; the more, the
  // longer it stays behind, since few rows may not make up a share of the time.
  OwedParts owed() const;

 private:
  // Seconds of steps in which it would have had nothing, had it had its share in all others. What its own classes'
  // ceilings keep from it, or it has no use for, is not owed to it.
  double behind_ = 0.0;
  bool seat_ = false;
};

}  // namespace takt
