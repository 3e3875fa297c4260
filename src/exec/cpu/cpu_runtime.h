// The instruction set and the threads that compute here.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/thread_pool.h"
#include "exec/cpu/options.h"
#include "kernels/compute.h"

namespace takt {

struct CpuRuntime {
  std::unique_ptr<ThreadPool> pool;
  Isa isa = Isa::kScalar;
  std::string reason;  // why so many threads, for the log

  Compute compute() const { return Compute(isa, *pool); }
};

// Errors (kInvalidArgument): an instruction set that is unknown, not built or not here; a thread count out of range.
Result<CpuRuntime> make_cpu_runtime(const CpuExecutorOptions& options);

}  // namespace takt
