// Cutting a text whose spaces are U+2581 into words that merge independently.
#pragma once

#include <cstddef>
#include <string_view>

namespace takt {

inline constexpr std::string_view kMetaSpace = "\xE2\x96\x81";  // U+2581, SentencePiece's space

// True when U+2581 stands behind another character somewhere in the token, so that it could join two words.
bool joins_words(std::string_view token);

// Calls visit(word) for each run of U+2581 with the characters up to the next one, until it returns false; true when
// it never did. While no token joins words, no merge reaches over these borders, and merging word by word gives what
// merging the whole text gives.
template <typename Visit>
bool for_each_meta_word(std::string_view text, const Visit& visit) {
  std::size_t begin = 0;
  while (begin < text.size()) {
    std::size_t at = begin;
    while (text.substr(at, kMetaSpace.size()) == kMetaSpace) at += kMetaSpace.size();
    const std::size_t next = text.find(kMetaSpace, at);
    const std::size_t end = next == std::string_view::npos ? text.size() : next;
    if (!visit(text.substr(begin, end - begin))) return false;
    begin = end;
  }
  return true;
}

}  // namespace takt
