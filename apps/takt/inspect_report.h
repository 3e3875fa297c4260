// What a model file holds and what it costs on this machine.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "exec/cpu/memory_plan.h"
#include "exec/cpu/options.h"
#include "machine_speed.h"
#include "model/gguf.h"
#include "model/hyperparameters.h"

namespace takt::app {

struct Inspection {
  std::string path;
  GgufFile file;
  std::optional<Hyperparameters> hyperparameters;
  std::optional<MemoryPlan> plan;
  std::vector<std::pair<KvType, MemoryPlan>> kv_types;  // the same for every type that fits
  std::optional<MachineSpeed> speed;                    // when asked for
  std::optional<Error> unsupported;                     // why the file cannot be served here
  bool weights_read = false;                            // all of them, in search of values that are not finite
};

// Errors: the file cannot be read or is no GGUF file. One that is, and cannot be served, is an Inspection that says
// why. `read_weights`: also look for values that are not finite, which reads the whole file.
Result<Inspection> inspect_model(const std::string& path, const CpuExecutorOptions& options, bool read_weights);

// What it is and whether it can be served come first. `tensors`: also each of them.
std::string to_text(const Inspection& inspection, bool tensors);
// One object; names as in the text.
std::string to_json(const Inspection& inspection);

}  // namespace takt::app
