// What decode and prefill share: the options of a model's run, and loading it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "exec/cpu/cpu_executor.h"
#include "exec/cpu/speed_probe.h"

namespace takt::bench {

class ModelBench {
 public:
  explicit ModelBench(const std::string& description) : app(description) {
    app.add_option("model", model_, "GGUF file")->required();
    app.add_option("--threads", options_.threads, "Compute threads; 0: what this process may use");
    app.add_flag_callback(
        "--no-repack", [this] { options_.repack = false; }, "Weights stay in the file and are read in every step");
    app.add_option("--rounds", rounds, "The best of so many counts")->check(CLI::Range(1, 1000));
  }

  // The exit code. TAKT_ISA chooses the instruction set.
  int run(int argc, char** argv, const std::function<Status(SpeedProbe&, CpuExecutor&)>& measure) {
    CLI11_PARSE(app, argc, argv);
    SteadyClock clock;
    const TimePoint start = clock.now();
    auto executor = CpuExecutor::load(model_, options_, clock);
    if (!executor) return fail(executor.error());
    const CpuRuntime& runtime = (*executor)->runtime();
    std::printf("loaded in %.2f s: %s, %d threads, weights %.1f MB\n", to_seconds(clock.now() - start),
                std::string(isa_name(runtime.isa)).c_str(), runtime.pool->threads(),
                static_cast<double>((*executor)->memory_plan().weight_bytes) / 1e6);
    SpeedProbe probe(**executor);
    const Status status = measure(probe, **executor);
    return status ? 0 : fail(status.error());
  }

  CLI::App app;
  int rounds = 3;

 private:
  static int fail(const Error& error) {
    std::fprintf(stderr, "%s%s%s\n", error.field.c_str(), error.field.empty() ? "" : ": ", error.message.c_str());
    return 1;
  }

  std::string model_;
  CpuExecutorOptions options_;
};

}  // namespace takt::bench
