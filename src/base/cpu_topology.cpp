#include "base/cpu_topology.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

namespace takt {
namespace {

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) return std::nullopt;
  return line;
}

// The cgroup v2 folders that hold this process, innermost first, ending at the root.
std::vector<std::string> cgroup_folders() {
  std::vector<std::string> folders;
  std::ifstream self("/proc/self/cgroup");
  std::string line;
  while (std::getline(self, line)) {
    if (line.rfind("0::", 0) != 0) continue;
    std::string path = line.substr(3);
    while (!path.empty() && path != "/") {
      folders.push_back("/sys/fs/cgroup" + path);
      path.erase(path.find_last_of('/'));
    }
  }
  folders.emplace_back("/sys/fs/cgroup");
  return folders;
}

double cgroup_quota() {
  double quota = 0.0;
  const auto take = [&](double cpus) { quota = quota == 0.0 ? cpus : std::min(quota, cpus); };
  for (const auto& folder : cgroup_folders()) {
    const auto line = first_line(folder + "/cpu.max");
    if (!line) continue;
    std::istringstream in(*line);
    std::string limit;
    double period = 0.0;
    if (in >> limit >> period && limit != "max" && period > 0.0) take(std::stod(limit) / period);
  }
  const auto limit_v1 = first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  const auto period_v1 = first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (limit_v1 && period_v1 && std::stod(*limit_v1) > 0.0) take(std::stod(*limit_v1) / std::stod(*period_v1));
  return quota;
}

int physical_cores(const cpu_set_t& allowed) {
  std::set<std::pair<std::string, std::string>> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    const auto core = first_line(topology + "core_id");
    const auto package = first_line(topology + "physical_package_id");
    cores.emplace(package.value_or("0"), core.value_or(std::to_string(cpu)));
  }
  return std::max<int>(1, static_cast<int>(cores.size()));
}

std::optional<std::size_t> cgroup_memory_left() {
  std::optional<std::size_t> left;
  for (const auto& folder : cgroup_folders()) {
    const auto limit = first_line(folder + "/memory.max");
    const auto used = first_line(folder + "/memory.current");
    if (!limit || !used || *limit == "max") continue;
    const auto max_bytes = std::stoull(*limit);
    const auto used_bytes = std::stoull(*used);
    const std::size_t here = max_bytes > used_bytes ? max_bytes - used_bytes : 0;
    left = left ? std::min(*left, here) : here;
  }
  return left;
}

}  // namespace

CpuBudget detect_cpu_budget() {
  CpuBudget budget;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
    budget.reason = "affinity unknown, one thread";
    return budget;
  }
  budget.affinity = std::max(1, CPU_COUNT(&allowed));
  budget.physical = physical_cores(allowed);
  budget.quota = cgroup_quota();
  budget.threads = std::min(budget.physical, budget.affinity);
  budget.reason = std::to_string(budget.physical) + " physical cores among " + std::to_string(budget.affinity) + " allowed CPUs";
  if (budget.quota > 0.0 && budget.quota < budget.threads) {
    budget.threads = std::max(1, static_cast<int>(std::floor(budget.quota)));
    budget.reason = "cgroup quota of " + std::to_string(budget.quota) + " CPUs, rounded down";
  }
  return budget;
}

std::size_t available_memory_bytes() {
  std::size_t available = std::numeric_limits<std::size_t>::max();
  std::ifstream meminfo("/proc/meminfo");
  std::string key;
  std::size_t kib = 0;
  std::string unit;
  while (meminfo >> key >> kib) {
    std::getline(meminfo, unit);
    if (key == "MemAvailable:") available = kib * 1024;
  }
  if (const auto left = cgroup_memory_left()) available = std::min(available, *left);
  return available;
}

}  // namespace takt
