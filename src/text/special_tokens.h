// Finds tokens that stand for themselves in a text: user-defined ones always, control ones where they are allowed.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model_vocabulary.h"
#include "text/prefix_trie.h"
#include "text/tokenizer.h"

namespace takt {

// One piece of a text: a token (token >= 0) or plain text between tokens.
struct TextSegment {
  std::size_t begin = 0;
  std::size_t end = 0;
  TokenId token = -1;
};

class SpecialTokens {
 public:
  // With `spaces_as_meta`, U+2581 in the text equals a space when user-defined tokens are looked for (SentencePiece
  // matches them after it has replaced spaces).
  SpecialTokens(const ModelVocabulary& vocabulary, bool spaces_as_meta);

  // Calls visit for each segment in order; plain segments are not empty. The leftmost token wins, of several there the
  // longest.
  void split(std::string_view text, bool parse_special, std::span<const TextRange> untrusted,
             const std::function<void(const TextSegment&)>& visit) const;

 private:
  struct Match {
    TokenId token = -1;
    std::size_t end = 0;
  };
  Match longest_user_defined(std::string_view text, std::size_t begin) const;
  Match longest_control(std::string_view text, std::size_t begin, std::size_t trusted_until) const;

  bool spaces_as_meta_;
  std::vector<std::string> spellings_;  // what the tries' keys are made of
  PrefixTrie user_defined_;
  PrefixTrie control_;
  std::array<bool, 256> starts_user_defined_{};
  std::array<bool, 256> starts_control_{};
  std::vector<bool> swallows_space_after_;
};

}  // namespace takt
