// SentencePiece's precompiled normalisation: a double-array trie (Aoe, IEEE Trans. Softw. Eng. 15(9), 1989; as
// Darts-clone lays it out) from byte sequences to replacement strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace takt {

class Charsmap {
 public:
  struct Match {
    std::size_t length = 0;  // bytes of the text it replaces, > 0
    std::string_view replacement;
  };

  Charsmap() = default;  // replaces nothing
  // Layout: u32 size of the trie in bytes (little endian), the trie's u32 units, the replacements, each ended by a zero
  // byte. Errors: kInvalidArgument naming tokenizer.ggml.precompiled_charsmap.
  static Result<Charsmap> parse(const std::vector<std::uint8_t>& blob);

  // The longest entry that the text begins with.
  std::optional<Match> longest_match(std::string_view text) const;

 private:
  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace takt
