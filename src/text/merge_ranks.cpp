#include "text/merge_ranks.h"

namespace takt {

Result<MergeRanks> MergeRanks::build(const std::vector<std::string>& merges, const TokenTable& tokens) {
  MergeRanks ranks;
  std::size_t capacity = 16;
  while (capacity < merges.size() * 2) capacity *= 2;
  ranks.slots_.resize(capacity);
  ranks.mask_ = capacity - 1;

  std::string joined;
  for (std::size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view merge = merges[rank];
    const std::size_t space = merge.find(' ', 1);
    if (merge.empty() || space == std::string_view::npos || space + 1 == merge.size()) {
      return Error::invalid("tokenizer.ggml.merges", "tokenizer.ggml.merges: merge " + std::to_string(rank) +
                                                         " is not two parts with a space between");
    }
    const auto left = tokens.find(merge.substr(0, space));
    const auto right = tokens.find(merge.substr(space + 1));
    if (!left || !right) continue;
    joined.assign(merge.substr(0, space)).append(merge.substr(space + 1));
    const auto merged = tokens.find(joined);
    if (!merged) continue;
    const std::uint64_t key = key_of(*left, *right);
    std::size_t at = ranks.slot_of(key);
    while (ranks.slots_[at].key != kFree && ranks.slots_[at].key != key) at = (at + 1) & ranks.mask_;
    if (ranks.slots_[at].key == kFree) ranks.slots_[at] = {key, static_cast<std::uint32_t>(rank), *merged};
  }
  return ranks;
}

}  // namespace takt
