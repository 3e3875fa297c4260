// Prompt tokens per second of the CPU executor, without an engine: `prefill MODEL.gguf --tokens 512,2000 --chunk 512`.
#include "model_bench.h"

namespace takt::bench {
namespace {

int run(int argc, char** argv) {
  ModelBench bench("Tokens per second of a model's prefill");
  std::vector<std::uint32_t> lengths{512, 2000};
  PrefillLoad load;
  bench.line.numbers("--tokens", lengths, "Lengths of the prompt");
  bench.line.number("--chunk", load.chunk_tokens, "Rows of a step");
  return bench.run(argc, argv, [&](SpeedProbe& probe, CpuExecutor&) -> Status {
    for (const std::uint32_t tokens : lengths) {
      load.tokens = tokens;
      const auto rate = probe.prefill(load, bench.rounds);
      if (!rate) return rate.error();
      std::printf("prefill %5u tokens by %u: %8.1f tokens/s\n", tokens, load.chunk_tokens, *rate);
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
