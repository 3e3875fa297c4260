// What decode and prefill share: the options of a model's run, and loading it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "command_line.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/cpu/speed_probe.h"

namespace takt::bench {

class ModelBench {
 public:
  explicit ModelBench(const std::string& description) : line(description) {
    line.required("model", model_, "GGUF file");
    line.number("--threads", options_.threads, "Compute threads; 0: what this process may use");
    line.flag("--no-repack", as_in_file_, "Weights stay in the file and are read in every step");
    line.number("--rounds", rounds, "The best of so many counts", {1, 1000});
  }

  // The exit code. TAKT_ISA chooses the instruction set.
  int run(int argc, char** argv, const std::function<Status(SpeedProbe&, CpuExecutor&)>& measure) {
    if (const auto code = line.parse(argc, argv)) return *code;
    options_.repack = !as_in_file_;
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

  CommandLine line;
  int rounds = 3;

 private:
  static int fail(const Error& error) {
    std::fprintf(stderr, "%s%s%s\n", error.field.c_str(), error.field.empty() ? "" : ": ", error.message.c_str());
    return 1;
  }

  std::string model_;
  bool as_in_file_ = false;
  CpuExecutorOptions options_;
};

}  // namespace takt::bench
