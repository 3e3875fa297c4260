// An executor without a model: its tokens are a function of what its KV blocks hold, so a wrong block table, position
// or order gives wrong tokens.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"
#include "exec/executor.h"
#include "exec/fake/fake_script.h"

namespace takt {

// How a step's cost is spent: sleeping, or moving a ManualClock.
using SpendTime = std::function<void(Duration)>;
SpendTime sleep_for_real();
SpendTime advance(ManualClock& clock);

// `clock` and what `spend` refers to outlive the executor.
//
// A cell of a block holds the token id and position last written to it. Every step writes its tokens through the block
// tables, checks that all earlier positions were written in every group, and draws the next token from a hash of the
// history read back from the blocks, the position and (unless greedy) the seed. Logprobs are made up from the same
// hash. An entry whose history cannot be read back fails.
std::unique_ptr<Executor> make_fake_executor(FakeScript script, const Clock& clock, SpendTime spend);

}  // namespace takt
