#include "metrics/idle_energy.h"

namespace takt::metrics {

void IdleEnergy::note(const std::vector<EnergyReading>& readings, Duration busy, std::uint64_t requests) {
  const bool known = last_.size() == readings.size();
  const bool was_idle = known && busy == busy_ && requests == 0 && requests_ == 0;
  if (idle_.size() != readings.size()) {
    idle_ = readings;
    for (EnergyReading& reading : idle_) reading.joules = 0.0;
  }
  for (std::size_t i = 0; i < readings.size() && was_idle; ++i) idle_[i].joules += readings[i].joules - last_[i].joules;
  last_ = readings;
  busy_ = busy;
  requests_ = requests;
}

}  // namespace takt::metrics
