#include "sched/admission.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace takt {

Result<std::uint32_t> length_limit(const LengthRequest& request, const LengthLimits& limits) {
  const std::uint64_t prompt = request.prompt_tokens;
  const std::uint64_t wanted = prompt + request.max_tokens.value_or(1);
  const auto most = std::min<std::uint64_t>(limits.context_tokens, limits.pool_tokens);
  const std::string what = request.max_tokens
                               ? "The prompt's " + std::to_string(prompt) + " tokens and max_tokens " +
                                     std::to_string(*request.max_tokens) + " together exceed "
                               : "The prompt's " + std::to_string(prompt) + " tokens leave no room for an answer in ";
  // With max_tokens, name it only when a smaller one would help.
  const std::string field = request.max_tokens && prompt < most ? "max_tokens" : "prompt";
  if (wanted > limits.context_tokens) {
    return Error{ErrorCode::kContextLength,
                 what + "the model's context of " + std::to_string(limits.context_tokens) + " tokens.", field};
  }
  if (wanted > limits.pool_tokens) {
    return Error{ErrorCode::kInvalidArgument,
                 what + "the KV memory of this server, " + std::to_string(limits.pool_tokens) + " tokens.", field};
  }
  return static_cast<std::uint32_t>(request.max_tokens ? wanted : most);
}

GroupCounts watermark_blocks(const GroupCounts& total, double part) {
  GroupCounts watermark;
  for (std::size_t g = 0; g < kMaxKvGroups; ++g) {
    watermark.blocks[g] = static_cast<std::uint32_t>(std::ceil(part * total.blocks[g]));
  }
  return watermark;
}

}  // namespace takt
