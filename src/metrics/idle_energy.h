// Energy that a machine used while it had nothing to do.
#pragma once

#include <vector>

#include "base/clock.h"
#include "metrics/energy_meter.h"

namespace takt::metrics {

// What the readings rose by between two of them counts where nothing was there to do at either and no step ran between
// them: a lower bound that is as fine as the readings are frequent.
class IdleEnergy {
 public:
  // `busy`: time that all models have spent in steps so far; `requests`: that run or wait now.
  void note(const std::vector<EnergyReading>& readings, Duration busy, std::uint64_t requests);

  // Since the start, of the zones of the last readings.
  const std::vector<EnergyReading>& joules() const { return idle_; }

 private:
  std::vector<EnergyReading> last_;
  std::vector<EnergyReading> idle_;
  Duration busy_{0};
  std::uint64_t requests_ = 0;
};

}  // namespace takt::metrics
