// Admission arithmetic: what can ever fit, and what fits now. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "core/kv_group.h"

namespace takt {

struct LengthRequest {
  std::uint32_t prompt_tokens = 0;
  std::optional<std::uint32_t> max_tokens;
};

struct LengthLimits {
  std::uint32_t context_tokens = 0;
  std::uint64_t pool_tokens = 0;  // of the whole KV pool
};

// Tokens (prompt and output) at which the sequence ends as `length`. Without max_tokens: what context and pool leave.
// Errors: kContextLength (prompt, or prompt + max_tokens, beyond the context), kInvalidArgument (beyond the pool).
Result<std::uint32_t> length_limit(const LengthRequest& request, const LengthLimits& limits);

// Blocks that admission leaves free: a part of each group, rounded up.
GroupCounts watermark_blocks(const GroupCounts& total, double part);

}  // namespace takt
