// Text of a token -> its id. Immutable after build; made for millions of look-ups of short slices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.h"

namespace takt {

class TokenTable {
 public:
  TokenTable() = default;
  // Keys are copied. Of equal keys the last given counts.
  explicit TokenTable(const std::vector<std::pair<std::string_view, TokenId>>& entries);

  std::optional<TokenId> find(std::string_view text) const;
  std::size_t longest() const { return longest_; }  // bytes of the longest key

 private:
  struct Slot {
    std::uint32_t hash = 0;
    TokenId id = -1;  // -1: free
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
  };
  Slot& place_of(std::string_view text, std::uint32_t hash);

  std::string keys_;
  std::vector<Slot> slots_;  // a power of two
  std::size_t longest_ = 0;
};

}  // namespace takt
