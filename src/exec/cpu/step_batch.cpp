#include "exec/cpu/step_batch.h"

#include <string>

namespace takt {
namespace {

Error refuse(const BoundEntry& entry, const std::string& message) {
  return Error::internal("sequence " + std::to_string(entry.sequence.value) + ": " + message);
}

bool inside(TokenId token, const StepLimits& limits) {
  return token >= 0 && static_cast<std::uint32_t>(token) < limits.vocabulary;
}

Status check(const BoundEntry& entry, const StepLimits& limits) {
  if (entry.kind != EntryKind::kGenerate) return refuse(entry, "this model makes no embeddings");
  if (entry.tokens.empty()) return refuse(entry, "an entry without tokens");
  const std::uint64_t end = std::uint64_t{entry.first_position} + entry.tokens.size();
  if (end > limits.context_tokens) {
    return refuse(entry, "position " + std::to_string(end - 1) + " is beyond the context of " +
                             std::to_string(limits.context_tokens));
  }
  for (const TokenId token : entry.tokens) {
    if (!inside(token, limits)) return refuse(entry, "token " + std::to_string(token) + " is outside the vocabulary");
  }
  if (entry.tables.size() != 1)
    return refuse(entry, "one KV group, but " + std::to_string(entry.tables.size()) + " block tables");
  const auto& table = entry.tables[0];
  if (std::uint64_t{table.size()} * limits.block_tokens < end)
    return refuse(entry, "the block table does not cover its positions");
  for (const BlockId block : table) {
    if (block.value >= limits.blocks) return refuse(entry, "there is no KV block " + std::to_string(block.value));
  }
  if (!entry.prompt_targets.empty() && entry.prompt_targets.size() != entry.tokens.size()) {
    return refuse(entry, "prompt targets for other than all rows");
  }
  for (const TokenId target : entry.prompt_targets) {
    if (target != -1 && !inside(target, limits)) {
      return refuse(entry, "prompt target " + std::to_string(target) + " is outside the vocabulary");
    }
  }
  return {};
}

}  // namespace

Status StepBatch::assign(const BoundStep& step, const StepLimits& limits) {
  std::size_t rows = step.padding_rows;
  std::size_t blocks = 0;
  for (const BoundEntry& entry : step.entries) {
    if (Status status = check(entry, limits); !status) return status;
    rows += entry.tokens.size();
    blocks += entry.tables[0].size();
  }
  if (rows > limits.rows) {
    return Error::internal("a step of " + std::to_string(rows) + " rows; the limit is " + std::to_string(limits.rows));
  }
  tokens_.clear();
  positions_.clear();
  blocks_.clear();
  sequences_.clear();
  logit_rows_.clear();
  blocks_.reserve(blocks);  // spans into it are kept
  for (std::uint32_t i = 0; i < step.entries.size(); ++i) append(step.entries[i], i);
  // No sequence names these rows, so they attend to nothing and write no keys.
  tokens_.resize(rows, 0);
  positions_.resize(rows, 0);
  return {};
}

void StepBatch::append(const BoundEntry& entry, std::uint32_t index) {
  const auto first_row = static_cast<std::uint32_t>(tokens_.size());
  const auto count = static_cast<std::uint32_t>(entry.tokens.size());
  const std::size_t first_block = blocks_.size();
  for (const BlockId block : entry.tables[0]) blocks_.push_back(block.value);
  sequences_.push_back({.blocks = {blocks_.data() + first_block, blocks_.size() - first_block},
                        .first_position = entry.first_position,
                        .count = count,
                        .first_row = first_row});
  for (std::uint32_t i = 0; i < count; ++i) {
    tokens_.push_back(entry.tokens[i]);
    positions_.push_back(entry.first_position + i);
    if (!entry.prompt_targets.empty() && entry.prompt_targets[i] != -1) {
      logit_rows_.push_back({first_row + i, index, entry.prompt_targets[i]});
    }
  }
  if (entry.samples) logit_rows_.push_back({first_row + count - 1, index, -1});
}

}  // namespace takt
