// Checks sampling parameters against their ranges (core/sampling_limits.h).
#pragma once

#include "base/result.h"
#include "core/sampling_params.h"

namespace takt {

// Errors (kInvalidArgument): the field is named as in the API; the message states the range. A value that is no number
// is out of every range.
Status validate(const SamplingParams& params);

}  // namespace takt
