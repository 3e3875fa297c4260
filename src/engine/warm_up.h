// Measures how long steps take on this executor, so that the step-time model starts from data.
#pragma once

#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "costmodel/fit.h"
#include "exec/executor.h"

namespace takt {

// Runs synthetic steps of growing size, then single rows at a deeper position, then several sequences at once, on
// scratch blocks that nobody owns yet. Stops after `at_most` (a single step may overrun it). At least one sample.
// Errors: the executor's.
Result<std::vector<StepSample>> measure_steps(Executor& executor, const Clock& clock, Duration at_most);

// Seconds that copying a block out of or into the pool takes, by a few copies of the first ones; they stay as they are.
// Errors: the executor's.
Result<double> measure_block_copy(Executor& executor, const Clock& clock);

}  // namespace takt
