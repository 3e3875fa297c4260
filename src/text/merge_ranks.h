// The merge list of a BPE vocabulary as a table: (left token, right token) -> rank and merged token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/symbol_merge.h"
#include "text/token_table.h"

namespace takt {

class MergeRanks {
 public:
  // `merges`: "left right" in rank order, spelled as in `tokens` (spelling -> id). A merge of which a part or the
  // result is no token never applies and is left out; of equal pairs the first counts. Errors: kInvalidArgument naming
  // tokenizer.ggml.merges.
  static Result<MergeRanks> build(const std::vector<std::string>& merges, const TokenTable& tokens);

  Merge find(TokenId left, TokenId right) const {
    const std::uint64_t key = key_of(left, right);
    for (std::size_t at = slot_of(key);; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return {slots_[at].rank, slots_[at].merged};
      if (slots_[at].key == kFree) return {};
    }
  }

 private:
  static constexpr std::uint64_t kFree = ~0ULL;
  struct Slot {
    std::uint64_t key = kFree;
    std::uint32_t rank = Merge::kNever;
    TokenId merged = -1;
  };

  MergeRanks() = default;
  static std::uint64_t key_of(TokenId left, TokenId right) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32U) | static_cast<std::uint32_t>(right);
  }
  // Fibonacci hashing (Knuth, TAOCP vol. 3, section 6.4).
  std::size_t slot_of(std::uint64_t key) const { return (key * 0x9E3779B97F4A7C15ULL >> 20U) & mask_; }

  std::vector<Slot> slots_;  // a power of two, never full
  std::size_t mask_ = 0;
};

}  // namespace takt
