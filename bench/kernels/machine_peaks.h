// What the machine itself can do: the roofline that kernels are held against.
#pragma once

#include <functional>

#include "base/thread_pool.h"

namespace takt::bench {

// Which seconds count. On a machine that others use too, one thread timed by its own CPU time is what repeats.
enum class Stopwatch { kWall, kThreadCpu };
void use_stopwatch(Stopwatch stopwatch);

// Seconds of the fastest of `repeats` runs.
double best_seconds(int repeats, const std::function<void()>& run);

// Bytes per second that the team reads from memory, streaming through 256 MiB.
double read_bandwidth(ThreadPool& pool);

// Multiply-accumulates per second of the team: 8-bit with maddubs + madd, F32 with fused multiply-adds. 0 where the
// machine has no AVX2.
struct MultiplyPeaks {
  double int8 = 0.0;
  double f32 = 0.0;
};
MultiplyPeaks multiply_peaks(ThreadPool& pool);

}  // namespace takt::bench
