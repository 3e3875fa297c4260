#include "kernels/machine_peaks.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "kernels/aligned_buffer.h"

namespace takt {

#if defined(TAKT_KERNELS_AVX2)
std::int32_t multiply_int8_avx2(std::size_t rounds);
float multiply_f32_avx2(std::size_t rounds);
std::uint64_t read_lines_avx2(const std::uint64_t* data, std::size_t words);
#endif

namespace {

constexpr std::size_t kMemoryBytesPerThread = std::size_t{64} << 20U;  // what no cache holds
constexpr std::size_t kRunBytesPerThread = std::size_t{2} << 20U;      // a run is much shorter than a time slice
// A hundredth of a second each: somebody waits for the server to start.
constexpr int kReadRuns = 40;
constexpr int kMultiplyRuns = 60;
constexpr std::size_t kLeastBytesPerThread = 1024;
constexpr std::size_t kBytesBetweenSums = 64;

using ReadWords = std::uint64_t (*)(const std::uint64_t* data, std::size_t words);

std::uint64_t read_words(const std::uint64_t* data, std::size_t words) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < words; ++i) sum += data[i];
  return sum;
}

// Asking the CPU what it has can take longer than reading a small piece: once is enough.
ReadWords fastest_reader() {
#if defined(TAKT_KERNELS_AVX2)
  if (isa_available(Isa::kAvx2)) return read_lines_avx2;
#endif
  return read_words;
}

}  // namespace

double best_seconds(int repeats, const std::function<void()>& run) {
  double best = 1e30;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

double read_bandwidth(ThreadPool& pool, std::size_t bytes_per_thread) {
  const auto parts = static_cast<std::size_t>(pool.threads());
  const std::size_t part_bytes =
      std::max(bytes_per_thread, kLeastBytesPerThread) / kLeastBytesPerThread * kLeastBytesPerThread;
  AlignedBuffer buffer;
  if (!buffer.reserve(part_bytes * parts)) return 0.0;
  // Taking the memory from the system is most of the work: by whoever will read it.
  const std::size_t part_words = part_bytes / sizeof(std::uint64_t);
  pool.run(parts,
           [&](std::size_t part, int) { std::fill_n(buffer.as<std::uint64_t>() + part * part_words, part_words, 1U); });

  // A part that is larger than a run is gone through by one piece after the other.
  const std::size_t piece_bytes = std::min(part_bytes, kRunBytesPerThread);
  const std::size_t pieces = part_bytes / piece_bytes;
  const std::size_t passes = kRunBytesPerThread / piece_bytes;
  const std::size_t words = piece_bytes / sizeof(std::uint64_t);
  std::vector<std::uint64_t> sums(parts * kBytesBetweenSums / sizeof(std::uint64_t));
  const ReadWords read = fastest_reader();
  std::size_t piece = 0;
  const double seconds = best_seconds(kReadRuns, [&] {
    pool.run(parts, [&](std::size_t part, int) {
      const std::uint64_t* start = buffer.as<std::uint64_t>() + part * part_words;
      std::uint64_t sum = 0;
      for (std::size_t pass = 0; pass < passes; ++pass) sum += read(start + piece * words, words);
      sums[part * kBytesBetweenSums / sizeof(std::uint64_t)] = sum;
    });
    piece = (piece + 1) % pieces;
  });
  return static_cast<double>(piece_bytes * passes * parts) / seconds;
}

MultiplyPeaks multiply_peaks(ThreadPool& pool, Isa isa) {
  MultiplyPeaks peaks;
#if defined(TAKT_KERNELS_AVX2)
  if (isa != Isa::kAvx2 || !isa_available(isa)) return peaks;
  constexpr std::size_t kRounds = 20000;
  const auto items = static_cast<std::size_t>(pool.threads());
  std::vector<float> sinks(items * kBytesBetweenSums / sizeof(float));
  const auto sink = [&](std::size_t item) -> float& { return sinks[item * kBytesBetweenSums / sizeof(float)]; };
  // A round is eight instructions of 32 (int8) or 8 (F32) products each, in independent chains.
  const double int8 = best_seconds(kMultiplyRuns, [&] {
    pool.run(items, [&](std::size_t i, int) { sink(i) = static_cast<float>(multiply_int8_avx2(kRounds)); });
  });
  const double f32 = best_seconds(
      kMultiplyRuns, [&] { pool.run(items, [&](std::size_t i, int) { sink(i) = multiply_f32_avx2(kRounds); }); });
  peaks.int8 = static_cast<double>(items * kRounds * 8 * 32) / int8;
  peaks.f32 = static_cast<double>(items * kRounds * 8 * 8) / f32;
#else
  static_cast<void>(pool);
  static_cast<void>(isa);
#endif
  return peaks;
}

MachinePeaks measure_machine_peaks(ThreadPool& pool, Isa isa) {
  return {read_bandwidth(pool, kMemoryBytesPerThread), multiply_peaks(pool, isa)};
}

}  // namespace takt
