#include "text/meta_words.h"

namespace takt {

bool joins_words(std::string_view token) {
  while (token.substr(0, kMetaSpace.size()) == kMetaSpace) token.remove_prefix(kMetaSpace.size());
  return token.find(kMetaSpace) != std::string_view::npos;
}

}  // namespace takt
