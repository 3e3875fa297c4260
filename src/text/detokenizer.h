// Token pieces -> text that may be shown: always whole characters, never held back longer than a character needs.
#pragma once

#include <string>
#include <string_view>

namespace takt {

// Bytes in, valid UTF-8 out. Incomplete characters wait for their rest; bytes that can never become a character turn
// into U+FFFD, one per maximal subpart (Unicode 15, section 3.9, "Substitution of Maximal Subparts").
class Utf8Stream {
 public:
  // The text that these bytes release.
  std::string push(std::string_view bytes);
  // What is left at the end: U+FFFD for an incomplete character.
  std::string finish();
  // Bytes wait for the rest of their character.
  bool holds_back() const { return !pending_.empty(); }

 private:
  std::string pending_;
};

}  // namespace takt
