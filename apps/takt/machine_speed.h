// How fast this machine computes a model without a server around it (`takt inspect --bench`).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "exec/cpu/options.h"
#include "kernels/machine_peaks.h"
#include "model/gguf.h"
#include "model/matrix_work.h"

namespace takt::app {

struct MachineSpeed {
  struct Decode {
    std::uint32_t streams = 0;
    double tokens_per_second = 0.0;  // of all streams together
  };

  std::string isa;
  int threads = 0;
  MachinePeaks peaks;
  MatrixWork work;                   // all 0 where it depends on the tokens
  std::uint32_t context_tokens = 0;  // of each stream, when it decodes
  std::vector<Decode> decode;
  std::uint32_t prompt_tokens = 0;
  double prompt_tokens_per_second = 0.0;

  // Shares of what the machine can do; 0 where that was not to be measured.
  double bandwidth_share(const Decode& at) const;
  double multiply_share(const Decode& at) const;
  double prompt_multiply_share() const;
};

// Takes some seconds. `file` is what `path` holds. Errors: as CpuExecutor::load, and of a step.
Result<MachineSpeed> measure_machine_speed(const std::string& path, const GgufFile& file,
                                           const CpuExecutorOptions& options);

std::string to_text(const MachineSpeed& speed);

}  // namespace takt::app
