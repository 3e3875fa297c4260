// Energy that the machine says it used: the kernel's counters of processor packages and memory (powercap).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace takt::metrics {

struct EnergyReading {
  std::string zone;     // as the kernel names it, e.g. "package-0"
  double joules = 0.0;  // since the meter was made
};

// Not safe for several threads at once.
class EnergyMeter {
 public:
  // `root` stands in front of /sys. Zones that are not there or may not be read (most systems let only root) are left
  // out.
  explicit EnergyMeter(const std::string& root = {});

  bool empty() const { return zones_.empty(); }
  // A counter that starts again from 0 is followed, if it is read more often than it does (within some minutes under
  // full load).
  std::vector<EnergyReading> read();

 private:
  struct Zone {
    std::string name;
    std::string file;
    std::uint64_t range = 0;  // microjoules at which the counter starts again
    std::uint64_t last = 0;
    std::uint64_t sum = 0;
  };
  std::vector<Zone> zones_;
};

}  // namespace takt::metrics
