// Shrinks admission when preemptions come faster than memory can make good: each preempted sequence comes back, takes
// somebody else's blocks and computes its own again, and ever less gets done. Multiplicative decrease, batch tier
// first; additive increase.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "core/step.h"
#include "sched/options.h"
#include "sched/sequence.h"

namespace takt {

class CascadeBreaker {
 public:
  explicit CascadeBreaker(const BreakerOptions& options) { set_options(options); }

  void set_options(const BreakerOptions& options);

  using Running = std::array<std::uint32_t, kTiers.size()>;
  // A running sequence lost blocks; `running`: by tier, that one included.
  void note_preemption(const Running& running, TimePoint now) noexcept;

  // Sequences of the tier that may run; who runs already may go on. At least 1.
  std::uint32_t most_running(Tier tier, TimePoint now) const;
  AdmissionPressure pressure(TimePoint now) const;

 private:
  struct TierState {
    double share = 1.0;  // when it was last shrunk
    TimePoint shrunk_at;
    std::uint32_t basis = 0;  // sequences that ran when it was first shrunk
  };

  double share_at(const TierState& tier, TimePoint now) const;
  void trip(const Running& running, TimePoint now) noexcept;

  BreakerOptions options_;
  std::array<TierState, kTiers.size()> tiers_;
  std::vector<TimePoint> recent_;  // a ring
  std::size_t recorded_ = 0;       // since the last trip
  std::uint64_t trips_ = 0;
};

}  // namespace takt
