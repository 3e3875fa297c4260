// The counts under the names that dashboards and routers made for vLLM read (its V1 engine's, label model_name).
#pragma once

#include <span>

#include "metrics/counts.h"
#include "metrics/exposition.h"
#include "metrics/families.h"

namespace takt::metrics {

// memory: index = ModelIndex. Requests are not counted by model: with several, what concerns requests carries all their
// names, joined by commas.
void add_vllm_names(Families& families, const Counts& counts, std::span<const KvBlocks> memory);

}  // namespace takt::metrics
