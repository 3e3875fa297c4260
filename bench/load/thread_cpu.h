// What the calling thread has used of its core.
#pragma once

#include <ctime>

namespace takt::bench {

inline double thread_cpu_seconds() {
  std::timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

}  // namespace takt::bench
