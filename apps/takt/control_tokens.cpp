#include "control_tokens.h"

#include <algorithm>

namespace takt::app {

std::vector<std::string> control_tokens(const ModelVocabulary& vocabulary) {
  std::vector<std::string> spellings;
  const std::size_t count = std::min(vocabulary.tokens.size(), vocabulary.types.size());
  for (std::size_t id = 0; id < count; ++id) {
    const TokenType type = vocabulary.types[id];
    if (type == TokenType::kControl || type == TokenType::kUserDefined) spellings.push_back(vocabulary.tokens[id]);
  }
  return spellings;
}

}  // namespace takt::app
