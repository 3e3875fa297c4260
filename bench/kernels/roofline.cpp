// The roofline of this machine: how fast it reads by working set, how fast it multiplies by instruction set, and what
// a barrier of the compute threads costs.
//
//   roofline [THREADS]      one line per figure for 1 and for THREADS threads (without: what this process may use)
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/cpu_topology.h"
#include "kernels/isa.h"
#include "kernels/machine_peaks.h"

namespace takt::bench {
namespace {

constexpr int kMostThreads = 1024;
constexpr std::size_t kBytesPerThread[] = {std::size_t{16} << 10U, std::size_t{128} << 10U, std::size_t{512} << 10U,
                                           std::size_t{2} << 20U,  std::size_t{8} << 20U,   std::size_t{128} << 20U};

std::string size_text(std::size_t bytes) {
  return bytes < (std::size_t{1} << 20U) ? std::to_string(bytes >> 10U) + " KiB"
                                         : std::to_string(bytes >> 20U) + " MiB";
}

void print_roofline(int threads) {
  ThreadPool pool(threads);
  std::printf("\n%d thread%s\n", threads, threads == 1 ? "" : "s");
  std::printf("| each thread reads | GB/s in all |\n|---|---|\n");
  for (const std::size_t bytes : kBytesPerThread) {
    std::printf("| %s | %.1f |\n", size_text(bytes).c_str(), read_bandwidth(pool, bytes) * 1e-9);
    std::fflush(stdout);
  }
  std::printf("\n| instruction set | int8, GMAC/s | F32, GMAC/s |\n|---|---|---|\n");
  for (const Isa isa : isa_built()) {
    const MultiplyPeaks peaks = multiply_peaks(pool, isa);
    if (peaks.f32 > 0.0)
      std::printf("| %s | %.1f | %.1f |\n", std::string(isa_name(isa)).c_str(), peaks.int8 * 1e-9, peaks.f32 * 1e-9);
  }
  constexpr int kBarriers = 200;
  const double barrier = best_seconds(50, [&] {
    for (int i = 0; i < kBarriers; ++i) pool.run(static_cast<std::size_t>(threads), [](std::size_t, int) {});
  });
  std::printf("\nstarting and joining the threads once: %.2f us\n", barrier / kBarriers * 1e6);
}

int run(int argc, char** argv) {
  const CpuBudget budget = detect_cpu_budget();
  const int threads = argc > 1 ? std::atoi(argv[1]) : budget.threads;
  if (threads < 1 || threads > kMostThreads) {
    std::fprintf(stderr, "THREADS must be 1 to %d\n", kMostThreads);
    return 2;
  }
  std::printf("%d threads by default: %s\n", budget.threads, budget.reason.c_str());
  if (threads > 1) print_roofline(1);
  print_roofline(threads);
  return 0;
}

}  // namespace
}  // namespace takt::bench

int main(int argc, char** argv) {
  return takt::bench::run(argc, argv);
}
