// The contract between the engine and whatever computes a step. `fake`, `sim` and `cpu` implement it; the tests in
// tests/contract run on all.
//
// Everything is said in tokens and positions. The executor keeps, per open sequence, what its sampler needs and nothing
// else of the engine's: no queue, no block table, no count of computed tokens. KV blocks are addressed by (group,
// block) and hold whatever was last written to them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/ids.h"
#include "core/kv_group.h"
#include "core/sampling_params.h"
#include "core/step.h"

namespace takt {

struct ExecutorCapabilities {
  std::string model_name;
  std::uint32_t vocab_size = 0;
  std::uint32_t context_tokens = 0;   // longest sequence: prompt and output
  std::uint32_t max_sequences = 0;    // that may be open at once
  std::uint32_t max_step_tokens = 0;  // rows of one step
  std::uint32_t depth = 1;            // steps that may be submitted before the first is collected
  std::vector<KvGroupInfo> groups;    // index = GroupId
};

// Tokens of the longest sequence that can be served, prompt and output: context and KV memory both bound it.
inline std::uint32_t longest_sequence(const ExecutorCapabilities& capabilities) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(capabilities.context_tokens, pool_tokens(capabilities.groups)));
}

struct SequenceSpec {
  SequenceId id;
  SamplingParams sampling;            // `seed` is this sequence's own
  std::vector<TokenId> end_tokens;    // what suppress_end_tokens bans
  std::vector<TokenId> known_tokens;  // prompt, and what was generated before: the sampler's history starts with these
  std::uint32_t prompt_tokens = 0;    // how many of known_tokens are the prompt
};

struct StepTicket {
  StepId id;
};

class Executor {
 public:
  virtual ~Executor() = default;

  virtual const ExecutorCapabilities& capabilities() const = 0;

  // Makes the sequence known. Sampler state is a function of the spec and of the tokens fed later at positions >=
  // known_tokens.size() (feeding a position again changes nothing), so a sequence may be closed and opened again at any
  // time.
  virtual Status open(SequenceSpec spec) = 0;
  virtual void close(SequenceId sequence) noexcept = 0;

  // Starts a step. Entries name open sequences; tables cover first_position + tokens. A sampled token is drawn from
  // (seed, position of the row). On error nothing was started. Errors: kInternal (this step cannot run; the next may),
  // kUnavailable (the executor is gone: fatal).
  virtual Result<StepTicket> submit(const BoundStep& step) = 0;

  // Waits for the step. An error fails the whole step and leaves no trace of it in the sampler state; KV of the step's
  // positions is undefined.
  virtual Result<StepResult> collect(StepTicket ticket) = 0;
  // The caller is done with a result of collect(): its memory may serve the next one.
  virtual void take_back(StepResult&& result) noexcept { result.entries.clear(); }

  // A block's bytes, for swap, hand-over and checks. `bytes` has exactly block_bytes. Only between steps.
  virtual Status read_block(GroupId group, BlockId block, std::span<std::byte> bytes) const = 0;
  virtual Status write_block(GroupId group, BlockId block, std::span<const std::byte> bytes) = 0;
};

}  // namespace takt
