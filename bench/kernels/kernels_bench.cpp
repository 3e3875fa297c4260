// Times of the kernels on SmolLM2-135M's shapes, beside what the machine itself can do.
//
//   bench_kernels [products|step|attention|rows|barrier|all] [threads]
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.h"
#include "command_line.h"
#include "kernels/attention.h"
#include "kernels/machine_peaks.h"
#include "kernels/matmul.h"
#include "kernels/rows.h"

namespace takt::bench {
namespace {

constexpr std::size_t kHidden = 576;
constexpr std::size_t kFeedForward = 1536;
constexpr std::size_t kVocabulary = 49152;
constexpr std::uint32_t kLayers = 30;
constexpr std::uint32_t kHeads = 9;
constexpr std::uint32_t kKvHeads = 3;
constexpr std::uint32_t kHeadDim = 64;
constexpr int kMostThreads = 1024;

MatrixView view_of(std::vector<float>& values, std::size_t rows, std::size_t cols) {
  return {values.data(), rows, cols, cols};
}

std::vector<float> random_floats(std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(uniform01(1, i) - 0.5);
  return values;
}

// Zero bytes are a valid matrix of every type, and take as long as any other.
PackedMatrix make_matrix(TensorType type, std::size_t rows, std::size_t cols, ThreadPool& pool) {
  const std::vector<std::byte> file(row_bytes(type, cols) * rows);
  return PackedMatrix::pack(type, file, rows, cols, pool).value();
}

std::vector<Isa> levels() {
  std::vector<Isa> runnable;
  for (const Isa isa : isa_built()) {
    if (isa_available(isa)) runnable.push_back(isa);
  }
  return runnable;
}

void time_product(TensorType type, std::size_t n, std::size_t k, ThreadPool& pool, const MachinePeaks& peaks) {
  // Copies enough that a small matrix does not stay in the cache from one product to the next, as in a model.
  std::vector<PackedMatrix> copies;
  const std::size_t bytes = row_bytes(type, k) * n;
  for (std::size_t i = 0; i < (std::size_t{64} << 20U) / bytes + 1; ++i)
    copies.push_back(make_matrix(type, n, k, pool));
  for (const std::size_t m : {1, 4, 8, 16, 32, 64, 512}) {
    std::vector<float> x = random_floats(m * k);
    std::vector<float> out(m * n);
    for (const Isa isa : levels()) {
      if (isa == Isa::kScalar && (m > 8 || n > kFeedForward)) continue;
      const Compute compute(isa, pool);
      Activations activations;
      if (!activations.assign(compute, view_of(x, m, k), copies[0].activation_formats())) return;
      std::size_t next = 0;
      const int repeats = isa == Isa::kScalar ? 3 : m >= 64 ? 10 : 60;
      const double seconds = best_seconds(repeats, [&] {
        if (!matmul(compute, copies[next++ % copies.size()], activations, view_of(out, m, n))) std::abort();
      });
      const double macs = static_cast<double>(m * n * k) / seconds;
      const double read = static_cast<double>(copies[0].read_bytes()) / seconds;
      const bool int8 = copies[0].activation_formats() != ActivationFormats::kNone;
      const double peak = int8 ? peaks.multiply.int8 : peaks.multiply.f32;
      std::printf("%-7s %6zu %5zu %4zu %-7s %9.4f ms %8.1f GMAC/s (%3.0f %%) %7.2f GB/s (%3.0f %%)\n",
                  std::string(tensor_type_name(type)).c_str(), n, k, m, std::string(isa_name(isa)).c_str(),
                  seconds * 1e3, macs * 1e-9, 100 * macs / peak, read * 1e-9, 100 * read / peaks.read);
      std::fflush(stdout);
    }
  }
}

void time_products(ThreadPool& pool, const MachinePeaks& peaks) {
  for (const TensorType type :
       {TensorType::kQ4_0, TensorType::kQ4_1, TensorType::kQ5_0, TensorType::kQ5_1, TensorType::kQ8_0,
        TensorType::kIQ4_NL, TensorType::kQ2_K, TensorType::kQ3_K, TensorType::kQ4_K, TensorType::kQ5_K,
        TensorType::kQ6_K, TensorType::kIQ4_XS, TensorType::kF16, TensorType::kF32}) {
    if (tensor_type_info(type).block_elements <= 32) time_product(type, kFeedForward, kHidden, pool, peaks);
    time_product(type, kHidden, kFeedForward, pool, peaks);
  }
  time_product(TensorType::kQ4_1, 192, kHidden, pool, peaks);
  time_product(TensorType::kQ8_0, kVocabulary, kHidden, pool, peaks);
}

// All products of one step: 30 layers and the head for every row, or for the last row only (prefill).
class StepProducts {
 public:
  explicit StepProducts(ThreadPool& pool) {
    for (std::uint32_t i = 0; i < kLayers; ++i) {
      for (const auto& [n, k] : kShapes) layers_.push_back(make_matrix(TensorType::kQ4_1, n, k, pool));
    }
    head_ = make_matrix(TensorType::kQ8_0, kVocabulary, kHidden, pool);
  }

  void run(const Compute& compute, std::size_t m, std::size_t head_rows) {
    hidden_.resize(m * kHidden, 0.25F);
    wide_.resize(m * kFeedForward, 0.25F);
    wide2_.resize(m * kFeedForward);
    outs_.resize(m * kHidden * 3);
    logits_.resize(head_rows * kVocabulary);
    bool ok = true;
    for (std::uint32_t i = 0; i < kLayers; ++i) {
      const PackedMatrix* w = &layers_[i * std::size(kShapes)];
      ok = ok && activations_.assign(compute, view_of(hidden_, m, kHidden), ActivationFormats::kBlock32).ok();
      const Product qkv[] = {{&w[0], &activations_, view_of(outs_, m, kHidden)},
                             {&w[1], &activations_, {outs_.data() + m * kHidden, m, 192, 192}},
                             {&w[2], &activations_, {outs_.data() + m * 768, m, 192, 192}}};
      ok = ok && matmul(compute, qkv).ok();
      ok = ok && activations_.assign(compute, view_of(hidden_, m, kHidden), ActivationFormats::kBlock32).ok();
      ok = ok && matmul(compute, w[3], activations_, view_of(outs_, m, kHidden)).ok();
      ok = ok && activations_.assign(compute, view_of(hidden_, m, kHidden), ActivationFormats::kBlock32).ok();
      const Product gate_up[] = {{&w[4], &activations_, view_of(wide_, m, kFeedForward)},
                                 {&w[5], &activations_, view_of(wide2_, m, kFeedForward)}};
      ok = ok && matmul(compute, gate_up).ok();
      ok = ok && activations_.assign(compute, view_of(wide_, m, kFeedForward), ActivationFormats::kBlock32).ok();
      ok = ok && matmul(compute, w[6], activations_, view_of(outs_, m, kHidden)).ok();
    }
    ok = ok && activations_.assign(compute, view_of(hidden_, head_rows, kHidden), ActivationFormats::kBlock32).ok();
    ok = ok && matmul(compute, head_, activations_, view_of(logits_, head_rows, kVocabulary)).ok();
    if (!ok) std::abort();
  }

  double read_bytes() const {
    std::size_t bytes = head_.read_bytes();
    for (const PackedMatrix& w : layers_) bytes += w.read_bytes();
    return static_cast<double>(bytes);
  }

 private:
  struct Shape {
    std::size_t n, k;
  };
  static constexpr Shape kShapes[] = {{kHidden, kHidden},     {192, kHidden},          {192, kHidden},
                                      {kHidden, kHidden},     {kFeedForward, kHidden}, {kFeedForward, kHidden},
                                      {kHidden, kFeedForward}};
  std::vector<PackedMatrix> layers_;
  PackedMatrix head_;
  Activations activations_;
  std::vector<float> hidden_, wide_, wide2_, outs_, logits_;
};

void time_step(ThreadPool& pool, const MachinePeaks& peaks) {
  StepProducts step(pool);
  const Compute compute(levels().back(), pool);
  std::printf("products of a SmolLM2-135M step (Q4_1, head Q8_0; %.1f MB)\n", step.read_bytes() * 1e-6);
  for (const std::size_t m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 32, 64}) {
    const double seconds = best_seconds(m < 16 ? 30 : 8, [&] { step.run(compute, m, m); });
    std::printf("decode  M %4zu  %9.3f ms  %8.1f tokens/s  %6.2f GB/s (%3.0f %%)\n", m, seconds * 1e3,
                static_cast<double>(m) / seconds, step.read_bytes() / seconds * 1e-9,
                100 * step.read_bytes() / seconds / peaks.read);
    std::fflush(stdout);
  }
  for (const std::size_t m : {64, 128, 512}) {
    const double seconds = best_seconds(5, [&] { step.run(compute, m, 1); });
    const double macs = static_cast<double>(m) * 106.2e6 / seconds;
    std::printf("prefill M %4zu  %9.3f ms  %8.1f tokens/s  %6.1f GMAC/s (%3.0f %% of int8 peak)\n", m, seconds * 1e3,
                static_cast<double>(m) / seconds, macs * 1e-9, 100 * macs / peaks.multiply.int8);
    std::fflush(stdout);
  }
}

struct AttentionCase {
  std::uint32_t sequences, first, count;
};
constexpr AttentionCase kAttentionCases[] = {{1, 255, 1},  {1, 1023, 1}, {8, 255, 1},   {8, 1023, 1},   {8, 4095, 1},
                                             {1, 0, 64},   {1, 0, 512},  {1, 1024, 64}, {1, 1536, 512}, {1, 1400, 1},
                                             {1, 1400, 3}, {1, 1400, 4}, {1, 1400, 8}};

void time_attention(ThreadPool& pool, const MachinePeaks& peaks, KvType kv_type) {
  KvBlocks cache;
  cache.layout = {kv_type, kLayers, kKvHeads, kHeadDim, kHeadDim, 16};
  const std::uint32_t blocks_per_sequence = 256;
  const std::uint32_t sequences = 8;
  AlignedBuffer memory;
  cache.block_count = blocks_per_sequence * sequences;
  if (!memory.reserve(cache.layout.block_bytes() * cache.block_count)) std::abort();
  cache.data = memory.data();
  AttentionWorkspace workspace;
  std::vector<std::uint32_t> table(cache.block_count);
  std::iota(table.begin(), table.end(), 0U);
  const Compute compute(levels().back(), pool);
  for (const AttentionCase& c : kAttentionCases) {
    const std::size_t rows = std::size_t{c.sequences} * c.count;
    std::vector<float> q = random_floats(rows * kHeads * kHeadDim);
    std::vector<float> out(q.size());
    std::vector<AttentionRows> entries;
    for (std::uint32_t i = 0; i < c.sequences; ++i) {
      entries.push_back({std::span(table).subspan(std::size_t{i} * blocks_per_sequence, blocks_per_sequence), c.first,
                         c.count, std::size_t{i} * c.count});
    }
    const double seconds = best_seconds(c.count > 64 ? 3 : 10, [&] {
      for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
        const AttentionParams params{layer, kHeads, 0.125F};
        if (!attend(compute, cache, params, entries, view_of(q, rows, kHeads * kHeadDim),
                    view_of(out, rows, kHeads * kHeadDim), workspace))
          std::abort();
      }
    });
    double attended = 0.0;
    for (std::uint32_t i = 0; i < c.count; ++i) attended += c.first + i + 1;
    const double macs = attended * c.sequences * kHeads * kHeadDim * 2 * kLayers / seconds;
    const double bytes_per_token = static_cast<double>(cache.layout.block_bytes()) / cache.layout.block_tokens;
    const double read = static_cast<double>(c.first + c.count) * c.sequences * bytes_per_token / seconds;
    std::printf(
        "attention, KV %-4s %u x %4u rows from %4u, all layers: %9.3f ms %7.1f GMAC/s (%3.0f %% of F32 peak) %6.2f "
        "GB/s (%3.0f %%)\n",
        kv_type_name(kv_type).data(), c.sequences, c.count, c.first, seconds * 1e3, macs * 1e-9,
        100 * macs / peaks.multiply.f32, read * 1e-9, 100 * read / peaks.read);
    std::fflush(stdout);
  }
}

// What it costs to hand out work and wait for it: runs of one short item per thread, as in a step, less the item
// itself.
void time_barrier(ThreadPool& pool) {
  constexpr int kRuns = 2000;
  constexpr int kItemSteps = 10'000;  // some microseconds: long enough for every thread to join
  const std::function<void(std::size_t, int)> item = [](std::size_t, int) {
    volatile int steps = kItemSteps;
    while (steps > 0) steps = steps - 1;
  };
  const auto seconds_of = [&](std::size_t items) {
    return best_seconds(20, [&] {
      for (int i = 0; i < kRuns; ++i) pool.run(items, item);
    });
  };
  const double inline_seconds = seconds_of(1);
  const double team_seconds = seconds_of(static_cast<std::size_t>(pool.threads()));
  std::printf("barrier of %d threads: %.2f us beside items of %.1f us\n", pool.threads(),
              (team_seconds - inline_seconds) / kRuns * 1e6, inline_seconds / kRuns * 1e6);
}

void time_rows(ThreadPool& pool) {
  for (const Isa isa : levels()) {
    const Compute compute(isa, pool);
    std::vector<float> x = random_floats(64 * kFeedForward);
    std::vector<float> y = x;
    std::vector<float> out(x.size());
    std::vector<float> logits = random_floats(kVocabulary);
    Activations activations;
    const auto print = [&](const char* what, double values, const std::function<void()>& run) {
      std::printf("%-14s %-7s %7.3f ns/value\n", what, std::string(isa_name(isa)).c_str(),
                  best_seconds(20, run) * 1e9 / values);
    };
    for (const ActivationFormats formats : {ActivationFormats::kNone, ActivationFormats::kBlock32}) {
      const std::string suffix = formats == ActivationFormats::kNone ? "" : "+quant";
      print(("rms_norm" + suffix).c_str(), 64 * kFeedForward, [&] {
        if (!activations.assign_normalised(compute, view_of(x, 64, kFeedForward), y.data(), 1e-5F,
                                           view_of(out, 64, kFeedForward), formats))
          std::abort();
      });
      print(("silu_mul" + suffix).c_str(), 64 * kFeedForward, [&] {
        if (!activations.assign_gated(compute, view_of(out, 64, kFeedForward), view_of(y, 64, kFeedForward), formats))
          std::abort();
      });
    }
    print("quantise_32", 64 * kFeedForward, [&] {
      if (!activations.assign(compute, view_of(x, 64, kFeedForward), ActivationFormats::kBlock32)) std::abort();
    });
    volatile float sink = 0.0F;
    print("log_sum_exp", kVocabulary, [&] { sink = log_sum_exp(compute, logits); });
    print("argmax", kVocabulary, [&] { sink = static_cast<float>(argmax(compute, logits)); });
  }
}

int run(int argc, char** argv) {
  CommandLine line("Times of the kernels on SmolLM2-135M's shapes, beside what this machine can do");
  std::string what = "all";
  int threads = 2;
  line.choice("what", what, "Which of them", {"products", "step", "attention", "rows", "barrier", "all"});
  line.number("threads", threads, "Compute threads", {1, kMostThreads});
  if (const auto code = line.parse(argc, argv)) return *code;
  ThreadPool pool(threads);
  const MachinePeaks peaks = measure_machine_peaks(pool, levels().back());
  std::printf("%d threads: reads %.2f GB/s, int8 %.1f GMAC/s, F32 %.1f GMAC/s\n", threads, peaks.read * 1e-9,
              peaks.multiply.int8 * 1e-9, peaks.multiply.f32 * 1e-9);
  const bool all = what == "all";
  if (all || what == "step") time_step(pool, peaks);
  if (all || what == "attention") {
    for (const KvType kv_type : {KvType::kF16, KvType::kQ8_0}) time_attention(pool, peaks, kv_type);
  }
  if (all || what == "rows") time_rows(pool);
  if (all || what == "barrier") time_barrier(pool);
  if (all || what == "products") time_products(pool, peaks);
  return 0;
}

}  // namespace
}  // namespace takt::bench

int main(int argc, char** argv) {
  return takt::bench::run(argc, argv);
}
