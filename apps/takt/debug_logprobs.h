// `takt debug logprobs`: a model's logprobs as a filter of JSON lines, for people who check us.
#pragma once

#include <iosfwd>

#include "exec/cpu/logprob_probe.h"

namespace takt {

// One line out per line in. In: {"prompt_ids", "generate"?, "top"?, "ids_at"?: [{"pos", "ids"}]}. Out: {"greedy_ids",
// "positions": [{"pos", "argmax", "top_ids", "top_logprobs", "ids", "logprobs"}]}, or {"error": text}. Positions: see
// LogprobAnswer. Blank lines are passed over. Returns the process's exit code: 0, or 1 when the output can't be
// written.
int run_debug_logprobs(LogprobProbe& probe, std::istream& in, std::ostream& out);

}  // namespace takt
