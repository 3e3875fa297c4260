// Tokens per second that the CPU executor decodes, without an engine: `decode MODEL.gguf --streams 1,8,32 --context
// 64`. With --phases also where the steps' time goes.
#include <memory>

#include "model/phase_times.h"
#include "model_bench.h"

namespace takt::bench {
namespace {

void print_phases(const PhaseTimes& times, std::uint32_t steps, int threads) {
  double whole = 0.0;
  for (std::size_t i = 0; i < kStepPhases; ++i) whole += to_seconds(times.of(static_cast<StepPhase>(i)).wall);
  std::printf("| phase | ms of a step | share | of the threads' time on items |\n|---|---|---|---|\n");
  for (std::size_t i = 0; i < kStepPhases; ++i) {
    const auto phase = static_cast<StepPhase>(i);
    const double wall = to_seconds(times.of(phase).wall);
    const double busy = to_seconds(times.of(phase).busy);
    std::printf("| %s | %.3f | %.1f %% | %.0f %% |\n", std::string(phase_name(phase)).c_str(), wall * 1e3 / steps,
                100 * wall / whole, wall > 0.0 ? 100 * busy / (wall * threads) : 0.0);
  }
  std::printf("\n");
}

int run(int argc, char** argv) {
  ModelBench bench("Tokens per second of a model's decode steps");
  std::vector<std::uint32_t> streams{1, 4, 8, 16, 32};
  DecodeLoad load;
  bool phases = false;
  bench.line.numbers("--streams", streams, "How many decode at once");
  bench.line.number("--context", load.context_tokens, "Tokens that each has before");
  bench.line.number("--steps", load.steps, "Steps of one token each");
  bench.line.flag("--phases", phases, "Also where the time of the steps goes");
  return bench.run(argc, argv, [&](SpeedProbe& probe, CpuExecutor& executor) -> Status {
    ThreadPool& pool = *executor.runtime().pool;
    std::unique_ptr<PhaseTimes> times;
    if (phases) times = std::make_unique<PhaseTimes>(pool);
    executor.measure_phases(times.get());
    double first = 0.0;
    for (const std::uint32_t count : streams) {
      load.streams = count;
      if (phases) times->clear();
      const auto rate = probe.decode(load, bench.rounds);
      if (!rate) return rate.error();
      if (first == 0.0) first = *rate;
      std::printf("decode %3u streams at %u: %8.1f tokens/s  (%.2f x the first)\n", count, load.context_tokens, *rate,
                  *rate / first);
      if (phases) print_phases(*times, load.steps * static_cast<std::uint32_t>(bench.rounds), pool.threads());
      std::fflush(stdout);
    }
    executor.measure_phases(nullptr);
    return {};
  });
}

}  // namespace
}  // namespace takt::bench

int main(int argc, char** argv) {
  return takt::bench::run(argc, argv);
}
