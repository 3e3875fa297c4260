#include "text/byte_fallback.h"

#include <algorithm>

#include "text/tokenizer_core.h"

namespace takt {

ByteFallback::ByteFallback(const ModelVocabulary& vocabulary) : unknown_(vocabulary.unk) {
  tokens_.fill(-1);
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (vocabulary.types[id] != TokenType::kByte) continue;
    if (const auto value = byte_token_value(vocabulary.tokens[id])) tokens_[*value] = static_cast<TokenId>(id);
  }
}

bool ByteFallback::covers_all() const {
  return std::all_of(tokens_.begin(), tokens_.end(), [](TokenId token) { return token >= 0; });
}

void ByteFallback::append(std::string_view bytes, std::vector<TokenId>& out) const {
  for (const char byte : bytes) {
    const TokenId token = byte_token(byte);
    if (token >= 0) {
      out.push_back(token);
    } else if (unknown_ && (out.empty() || out.back() != *unknown_)) {
      out.push_back(*unknown_);
    }
  }
}

}  // namespace takt
