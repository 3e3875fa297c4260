// Tokens per second of the CPU executor: decode at several numbers of streams, and prefill of long prompts.
//
//   bench_decode MODEL.gguf [STREAMS...]      TAKT_ISA and TAKT_BENCH_THREADS choose what computes
//
// Decode: prompts of 64 tokens, then 48 steps of one token per stream. Prefill: 512 and 2,000 tokens in chunks of 512.
// Best of three.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "exec/cpu/cpu_executor.h"

namespace takt {
namespace {

constexpr std::uint32_t kPrompt = 64;
constexpr std::uint32_t kSteps = 48;
constexpr std::uint32_t kChunk = 512;
constexpr int kRounds = 3;

// Streams that each own a run of KV blocks.
class Streams {
 public:
  Streams(Executor& executor, std::uint32_t count, std::uint32_t tokens) : executor_(executor) {
    const std::uint32_t block_tokens = executor.capabilities().groups[0].block_tokens;
    const std::uint32_t blocks = (tokens + block_tokens - 1) / block_tokens;
    for (std::uint32_t s = 0; s < count; ++s) {
      std::vector<BlockId> table;
      for (std::uint32_t b = 0; b < blocks; ++b) table.push_back(BlockId(s * blocks + b));
      tables_.push_back(std::move(table));
      spans_.emplace_back(tables_.back());
      SequenceSpec spec;
      spec.id = SequenceId(s + 1);
      spec.sampling.temperature = 0.0F;
      ok_ = ok_ && executor.open(std::move(spec)).ok();
    }
  }
  ~Streams() {
    for (std::uint32_t s = 0; s < tables_.size(); ++s) executor_.close(SequenceId(s + 1));
  }

  // Every stream computes `count` tokens from `position` on. Seconds, negative on failure.
  double step(std::uint32_t position, std::uint32_t count, bool samples) {
    const auto vocabulary = static_cast<TokenId>(executor_.capabilities().vocab_size);
    tokens_.assign(count, 0);
    for (std::uint32_t i = 0; i < count; ++i) tokens_[i] = static_cast<TokenId>((position + i) * 7919U % vocabulary);
    std::vector<BoundEntry> entries(tables_.size());
    for (std::size_t s = 0; s < tables_.size(); ++s) {
      entries[s].sequence = SequenceId(s + 1);
      entries[s].first_position = position;
      entries[s].tokens = tokens_;
      entries[s].tables = std::span(&spans_[s], 1);
      entries[s].samples = samples;
    }
    const auto ticket = executor_.submit({StepId(1), entries});
    if (!ok_ || !ticket.ok()) return -1.0;
    const auto result = executor_.collect(*ticket);
    return result.ok() ? to_seconds(result->measured) : -1.0;
  }

 private:
  Executor& executor_;
  std::vector<std::vector<BlockId>> tables_;
  std::vector<std::span<const BlockId>> spans_;
  std::vector<TokenId> tokens_;
  bool ok_ = true;
};

double decode_rate(Executor& executor, std::uint32_t streams) {
  double best = 0.0;
  for (int round = 0; round < kRounds; ++round) {
    Streams run(executor, streams, kPrompt + kSteps);
    for (std::uint32_t p = 0; p < kPrompt; p += 16) run.step(p, 16, false);
    double seconds = 0.0;
    for (std::uint32_t i = 0; i < kSteps; ++i) seconds += run.step(kPrompt + i, 1, true);
    best = std::max(best, streams * kSteps / seconds);
  }
  return best;
}

double prefill_rate(Executor& executor, std::uint32_t tokens) {
  double best = 0.0;
  for (int round = 0; round < kRounds; ++round) {
    Streams run(executor, 1, tokens);
    double seconds = 0.0;
    for (std::uint32_t p = 0; p < tokens; p += kChunk) {
      const std::uint32_t count = std::min(kChunk, tokens - p);
      seconds += run.step(p, count, p + count == tokens);
    }
    best = std::max(best, tokens / seconds);
  }
  return best;
}

int run(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "bench_decode MODEL.gguf [STREAMS...]\n");
    return 2;
  }
  std::vector<std::uint32_t> streams;
  for (int i = 2; i < argc; ++i) streams.push_back(static_cast<std::uint32_t>(std::strtoul(argv[i], nullptr, 10)));
  if (streams.empty()) streams = {1, 4, 8, 16, 32};
  CpuExecutorOptions options;
  if (const char* threads = std::getenv("TAKT_BENCH_THREADS")) options.threads = std::atoi(threads);
  SteadyClock clock;
  const TimePoint start = clock.now();
  auto executor = CpuExecutor::load(argv[1], options, clock);
  if (!executor) {
    std::fprintf(stderr, "%s\n", executor.error().message.c_str());
    return 1;
  }
  const CpuRuntime& runtime = (*executor)->runtime();
  std::printf("loaded in %.2f s: %s, %d threads, weights %.1f MB\n", to_seconds(clock.now() - start),
              std::string(isa_name(runtime.isa)).c_str(), runtime.pool->threads(),
              static_cast<double>((*executor)->memory_plan().weight_bytes) / 1e6);
  double one = 0.0;
  for (const std::uint32_t count : streams) {
    const double rate = decode_rate(**executor, count);
    if (one == 0.0) one = rate;
    std::printf("decode %3u streams: %8.1f tokens/s  (%.2f x the first)\n", count, rate, rate / one);
  }
  for (const std::uint32_t tokens : {512U, 2000U}) {
    if (tokens <= (*executor)->capabilities().context_tokens)
      std::printf("prefill %4u: %8.1f tokens/s\n", tokens, prefill_rate(**executor, tokens));
  }
  return 0;
}

}  // namespace
}  // namespace takt

int main(int argc, char** argv) {
  return takt::run(argc, argv);
}
