// How many threads this process may use: physical cores, CPU affinity and cgroup quota all count.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace takt {

struct CpuBudget {
  int threads = 1;     // compute threads to use by default: the smallest of the limits below, at least 1
  int physical = 1;    // physical cores among the allowed CPUs
  int affinity = 1;    // CPUs in the affinity mask
  double quota = 0.0;  // cgroup CPU quota in CPUs; 0 when there is none
  std::string reason;  // which limit decided, for the log
};

CpuBudget detect_cpu_budget();

// The same for these CPUs and what the system says under `root`, which stands in front of /proc and /sys. What is not
// there or not understood sets no limit.
CpuBudget cpu_budget(const std::vector<int>& allowed_cpus, const std::string& root);

// Bytes that may still be used: the machine's available memory or what the cgroup leaves, whichever is less. Page cache
// that the kernel would give back counts as left.
std::size_t available_memory_bytes(const std::string& root = {});

}  // namespace takt
