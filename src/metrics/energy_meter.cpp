#include "metrics/energy_meter.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <utility>

namespace takt::metrics {
namespace {

namespace fs = std::filesystem;

std::optional<std::uint64_t> read_count(const std::string& file) {
  std::ifstream in(file);
  std::uint64_t value = 0;
  return in >> value ? std::optional(value) : std::nullopt;
}

std::string read_name(const fs::path& file) {
  std::ifstream in(file);
  std::string name;
  in >> name;
  return name;
}

// "intel-rapl:0" is a package, "intel-rapl:0:1" a part of it; AMD's processors are called the same. The package's
// counter holds its parts but not the memory.
bool counts_apart(const std::string& folder, const std::string& name) {
  if (folder.rfind("intel-rapl:", 0) != 0) return false;
  return std::count(folder.begin(), folder.end(), ':') == 1 || name == "dram";
}

}  // namespace

EnergyMeter::EnergyMeter(const std::string& root) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root + "/sys/class/powercap", error)) {
    Zone zone;
    zone.name = read_name(entry.path() / "name");
    if (!counts_apart(entry.path().filename().string(), zone.name)) continue;
    zone.file = (entry.path() / "energy_uj").string();
    const auto now = read_count(zone.file);
    const auto range = read_count((entry.path() / "max_energy_range_uj").string());
    if (!now || !range) continue;
    zone.last = *now;
    zone.range = *range;
    // Memory belongs to a package of its number.
    if (zone.name == "dram")
      zone.name += "-" + entry.path().filename().string().substr(std::string("intel-rapl:").size());
    zones_.push_back(std::move(zone));
  }
  std::sort(zones_.begin(), zones_.end(), [](const Zone& a, const Zone& b) { return a.name < b.name; });
}

std::vector<EnergyReading> EnergyMeter::read() {
  std::vector<EnergyReading> readings;
  for (Zone& zone : zones_) {
    if (const auto now = read_count(zone.file)) {
      zone.sum += *now >= zone.last ? *now - zone.last : *now + zone.range - zone.last;
      zone.last = *now;
    }
    readings.push_back({zone.name, static_cast<double>(zone.sum) * 1e-6});
  }
  return readings;
}

}  // namespace takt::metrics
