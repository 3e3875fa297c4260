#include "machine_peaks.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <vector>

#include "kernels/aligned_buffer.h"
#include "kernels/isa.h"

namespace takt::bench {

#if defined(TAKT_KERNELS_AVX2)
std::int32_t multiply_int8(std::size_t rounds);
float multiply_f32(std::size_t rounds);
std::uint64_t read_lines(const std::uint64_t* data, std::size_t words);
#endif

namespace {

constexpr std::size_t kReadBytes = std::size_t{256} << 20U;
// A run reads a few pieces of what the caches have long forgotten, and is short: the best one is one that nobody
// disturbed.
constexpr std::size_t kPieceBytes = std::size_t{256} << 10U;
constexpr std::size_t kPiecesPerRun = 16;

std::uint64_t read_piece(const std::uint64_t* data, std::size_t words) {
#if defined(TAKT_KERNELS_AVX2)
  if (isa_available(Isa::kAvx2)) return read_lines(data, words);
#endif
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < words; ++i) sum += data[i];
  return sum;
}

Stopwatch& stopwatch() {
  static Stopwatch chosen = Stopwatch::kWall;
  return chosen;
}

double now_seconds() {
  timespec now{};
  clock_gettime(stopwatch() == Stopwatch::kWall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

void use_stopwatch(Stopwatch chosen) {
  stopwatch() = chosen;
}

double best_seconds(int repeats, const std::function<void()>& run) {
  double best = 1e30;
  for (int i = 0; i < repeats; ++i) {
    const double start = now_seconds();
    run();
    best = std::min(best, now_seconds() - start);
  }
  return best;
}

double read_bandwidth(ThreadPool& pool) {
  AlignedBuffer buffer;
  if (!buffer.reserve(kReadBytes)) return 0.0;
  std::vector<std::uint64_t> sums(kPiecesPerRun);
  const std::size_t words = kPieceBytes / sizeof(std::uint64_t);
  std::size_t next = 0;
  const double seconds = best_seconds(400, [&] {
    const std::uint64_t* start = buffer.as<std::uint64_t>() + next * words;
    pool.run(kPiecesPerRun, [&](std::size_t piece, int) { sums[piece] = read_piece(start + piece * words, words); });
    next = (next + kPiecesPerRun) % (kReadBytes / kPieceBytes);
  });
  return static_cast<double>(kPieceBytes * kPiecesPerRun) / seconds;
}

MultiplyPeaks multiply_peaks(ThreadPool& pool) {
  MultiplyPeaks peaks;
#if defined(TAKT_KERNELS_AVX2)
  if (!isa_available(Isa::kAvx2)) return peaks;
  constexpr std::size_t kRounds = 20000;  // well below a time slice, often: the best run is one that nobody disturbed
  const auto items = static_cast<std::size_t>(pool.threads());
  std::vector<float> sinks(items * 16);
  // A round is eight independent chains of one instruction pair (int8: 32 products) or one instruction (F32: 8
  // products).
  const double int8 = best_seconds(500, [&] {
    pool.run(items, [&](std::size_t i, int) { sinks[i * 16] = static_cast<float>(multiply_int8(kRounds)); });
  });
  const double f32 =
      best_seconds(10, [&] { pool.run(items, [&](std::size_t i, int) { sinks[i * 16] = multiply_f32(kRounds); }); });
  peaks.int8 = static_cast<double>(items * kRounds * 8 * 32) / int8;
  peaks.f32 = static_cast<double>(items * kRounds * 8 * 8) / f32;
#else
  static_cast<void>(pool);
#endif
  return peaks;
}

}  // namespace takt::bench
