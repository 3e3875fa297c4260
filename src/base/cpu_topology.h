// How many threads this process may use: physical cores, CPU affinity and cgroup quota all count.
#pragma once

#include <cstddef>
#include <string>

namespace takt {

struct CpuBudget {
  int threads = 1;     // compute threads to use by default: the smallest of the limits below, at least 1
  int physical = 1;    // physical cores among the allowed CPUs
  int affinity = 1;    // CPUs in the affinity mask
  double quota = 0.0;  // cgroup CPU quota in CPUs; 0 when there is none
  std::string reason;  // which limit decided, for the log
};

CpuBudget detect_cpu_budget();

// Bytes that may still be used: the machine's available memory or what the cgroup leaves, whichever is less.
std::size_t available_memory_bytes();

}  // namespace takt
