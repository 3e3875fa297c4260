#include "exec/cpu/cpu_runtime.h"

#include "base/cpu_topology.h"

namespace takt {
namespace {

constexpr int kMostThreads = 1024;

}  // namespace

Result<CpuRuntime> make_cpu_runtime(const CpuExecutorOptions& options) {
  if (options.threads < 0 || options.threads > kMostThreads) {
    return Error::invalid("threads", "threads must be from 0 (automatic) to " + std::to_string(kMostThreads));
  }
  auto isa = options.isa.empty() ? select_isa_from_environment() : select_isa(options.isa);
  if (!isa) return isa.error();
  CpuRuntime runtime;
  runtime.isa = *isa;
  int threads = options.threads;
  if (threads == 0) {
    const CpuBudget budget = detect_cpu_budget();
    threads = budget.threads;
    runtime.reason = budget.reason;
  } else {
    runtime.reason = "set by option";
  }
  runtime.pool = std::make_unique<ThreadPool>(threads);
  return runtime;
}

}  // namespace takt
