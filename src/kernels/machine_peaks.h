// What the machine itself can do: the roofline that a step is held against.
#pragma once

#include <cstddef>
#include <functional>

#include "base/thread_pool.h"
#include "kernels/isa.h"

namespace takt {

// Seconds of the fastest of `repeats` runs: the one that nobody disturbed.
double best_seconds(int repeats, const std::function<void()>& run);

// Bytes per second that the team reads while each of its threads goes through `bytes_per_thread` of its own, again and
// again: sizes below a cache's give that cache's bandwidth. 0 when the memory is not to be had.
double read_bandwidth(ThreadPool& pool, std::size_t bytes_per_thread);

// Multiply-accumulates per second of the team with the densest instruction of a level, as if nothing else were to be
// done: 8-bit integers (summed in 16 bits, which weights of 4 bits can do for a while), and F32. Known for AVX2 alone;
// else, and where the machine or the build lacks the level, 0.
struct MultiplyPeaks {
  double int8 = 0.0;
  double f32 = 0.0;
};
MultiplyPeaks multiply_peaks(ThreadPool& pool, Isa isa);

// Both limits of a step, from about a tenth of a second of measuring. `read`: from memory.
struct MachinePeaks {
  double read = 0.0;
  MultiplyPeaks multiply;
};
MachinePeaks measure_machine_peaks(ThreadPool& pool, Isa isa);

}  // namespace takt
