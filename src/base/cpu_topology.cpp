#include "base/cpu_topology.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace takt {
namespace {

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) return std::nullopt;
  return line;
}

// Of the first word; empty for what is no number, such as "max".
template <typename Number>
std::optional<Number> number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end == text.data() + text.size() || *end == ' ';
  if (error != std::errc() || !whole) return std::nullopt;
  return value;
}

template <typename Number>
std::optional<Number> number_in(const std::string& path) {
  const auto line = first_line(path);
  return line ? number<Number>(*line) : std::nullopt;
}

// The value of a line "key value".
std::optional<std::uint64_t> field_in(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key + " ", 0) == 0) return number<std::uint64_t>(std::string_view(line).substr(key.size() + 1));
  }
  return std::nullopt;
}

// The folders of a version 1 controller, or of version 2 ("", the unified tree), that hold this process: innermost
// first, ending at the root. In a container the path may lead nowhere; then its root is the container's own.
std::vector<std::string> cgroup_folders(const std::string& root, const std::string& controller) {
  const std::string mount = root + "/sys/fs/cgroup" + (controller.empty() ? "" : "/" + controller);
  std::vector<std::string> folders;
  std::ifstream self(root + "/proc/self/cgroup");
  for (std::string line; std::getline(self, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controller.empty() ? controllers != ",," : controllers.find("," + controller + ",") == std::string::npos)
      continue;
    std::string path = line.substr(second + 1);
    while (!path.empty() && path != "/") {
      folders.push_back(mount + path);
      const auto slash = path.find_last_of('/');
      path.erase(slash == std::string::npos ? 0 : slash);
    }
  }
  folders.push_back(mount);
  return folders;
}

// In CPUs, the smallest on the way to the root; 0: none.
double cgroup_quota(const std::string& root) {
  double quota = 0.0;
  const auto take = [&](std::optional<double> limit, std::optional<double> period) {
    if (!limit || !period || !(*limit > 0.0) || !(*period > 0.0)) return;
    const double cpus = *limit / *period;
    quota = quota == 0.0 ? cpus : std::min(quota, cpus);
  };
  for (const auto& folder : cgroup_folders(root, {})) {
    const auto line = first_line(folder + "/cpu.max");
    if (!line) continue;
    const auto space = line->find(' ');
    if (space != std::string::npos)
      take(number<double>(*line), number<double>(std::string_view(*line).substr(space + 1)));
  }
  for (const auto& folder : cgroup_folders(root, "cpu"))
    take(number_in<double>(folder + "/cpu.cfs_quota_us"), number_in<double>(folder + "/cpu.cfs_period_us"));
  return quota;
}

int physical_cores(const std::vector<int>& allowed_cpus, const std::string& root) {
  std::set<std::pair<std::string, std::string>> cores;
  for (const int cpu : allowed_cpus) {
    const std::string topology = root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    const auto core = first_line(topology + "core_id");
    const auto package = first_line(topology + "physical_package_id");
    cores.emplace(package.value_or("0"), core.value_or(std::to_string(cpu)));
  }
  return std::max<int>(1, static_cast<int>(cores.size()));
}

struct MemoryFiles {
  const char* controller;
  const char* limit;
  const char* used;
  const char* reclaimable;  // in memory.stat
};
constexpr MemoryFiles kMemoryFiles[] = {
    {"", "/memory.max", "/memory.current", "inactive_file"},
    {"memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"},
};

std::size_t cgroup_memory_left(const std::string& root) {
  std::size_t left = std::numeric_limits<std::size_t>::max();
  for (const auto& files : kMemoryFiles) {
    for (const auto& folder : cgroup_folders(root, files.controller)) {
      const auto limit = number_in<std::uint64_t>(folder + files.limit);
      const auto used = number_in<std::uint64_t>(folder + files.used);
      if (!limit || !used) continue;
      const std::uint64_t cache = field_in(folder + "/memory.stat", files.reclaimable).value_or(0);
      const std::uint64_t held = *used - std::min(*used, cache);
      left = std::min<std::size_t>(left, *limit - std::min(*limit, held));
    }
  }
  return left;
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

}  // namespace

CpuBudget detect_cpu_budget() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) {
    CpuBudget budget;
    budget.reason = "affinity unknown, one thread";
    return budget;
  }
  std::vector<int> allowed;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) allowed.push_back(cpu);
  }
  return cpu_budget(allowed, {});
}

CpuBudget cpu_budget(const std::vector<int>& allowed_cpus, const std::string& root) {
  CpuBudget budget;
  budget.affinity = std::max<int>(1, static_cast<int>(allowed_cpus.size()));
  budget.physical = physical_cores(allowed_cpus, root);
  budget.quota = cgroup_quota(root);
  budget.threads = std::min(budget.physical, budget.affinity);
  budget.reason =
      std::to_string(budget.physical) + " physical cores among " + std::to_string(budget.affinity) + " allowed CPUs";
  if (budget.quota > 0.0 && budget.quota < budget.threads) {
    budget.threads = std::max(1, static_cast<int>(std::floor(budget.quota)));
    budget.reason = "cgroup quota of " + short_number(budget.quota) + " CPUs, rounded down";
  }
  return budget;
}

std::size_t available_memory_bytes(const std::string& root) {
  std::size_t available = std::numeric_limits<std::size_t>::max();
  std::ifstream meminfo(root + "/proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    std::istringstream words(line);
    std::string key;
    std::size_t kib = 0;
    if (words >> key >> kib && key == "MemAvailable:") available = kib * 1024;
  }
  return std::min(available, cgroup_memory_left(root));
}

}  // namespace takt
