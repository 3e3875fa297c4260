// Tokens per second that the CPU executor decodes, without an engine: `decode MODEL.gguf --streams 1,8,32 --context
// 64`.
#include "model_bench.h"

namespace takt::bench {
namespace {

int run(int argc, char** argv) {
  ModelBench bench("Tokens per second of a model's decode steps");
  std::vector<std::uint32_t> streams{1, 4, 8, 16, 32};
  DecodeLoad load;
  bench.app.add_option("--streams", streams, "How many decode at once")->delimiter(',');
  bench.app.add_option("--context", load.context_tokens, "Tokens that each has before");
  bench.app.add_option("--steps", load.steps, "Steps of one token each");
  return bench.run(argc, argv, [&](SpeedProbe& probe) -> Status {
    double first = 0.0;
    for (const std::uint32_t count : streams) {
      load.streams = count;
      const auto rate = probe.decode(load, bench.rounds);
      if (!rate) return rate.error();
      if (first == 0.0) first = *rate;
      std::printf("decode %3u streams at %u: %8.1f tokens/s  (%.2f x the first)\n", count, load.context_tokens, *rate,
                  *rate / first);
      std::fflush(stdout);
    }
    return {};
  });
}

}  // namespace
}  // namespace takt::bench

int main(int argc, char** argv) {
  return takt::bench::run(argc, argv);
}
