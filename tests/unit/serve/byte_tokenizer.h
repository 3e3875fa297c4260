// A tokenizer whose tokens are single bytes, with a few control tokens behind them: small enough to see through.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/step.h"
#include "text/tokenizer.h"

namespace takt::test {

inline constexpr TokenId kEnd = 256;
inline constexpr TokenId kBegin = 257;
inline constexpr TokenId kTurn = 258;
inline constexpr std::size_t kVocabularySize = 259;

class ByteTokenizer final : public Tokenizer {
 public:
  ByteTokenizer() {
    vocabulary_.kind = "gpt2";
    for (int i = 0; i < 256; ++i) vocabulary_.tokens.emplace_back(1, static_cast<char>(i));
    for (const char* control : {"<end>", "<bos>", "<turn>"}) vocabulary_.tokens.emplace_back(control);
    vocabulary_.bos = kBegin;
    vocabulary_.eos = kEnd;
    vocabulary_.end_of_generation = {kEnd};
  }

  Result<std::vector<TokenId>> encode(std::string_view text, const EncodeOptions& options) const override {
    std::vector<TokenId> ids;
    for (std::size_t at = 0; at < text.size();) {
      const TokenId control = options.parse_special ? control_at(text, at, options) : -1;
      if (control >= 0) {
        ids.push_back(control);
        at += piece(control, true).size();
      } else {
        ids.push_back(static_cast<unsigned char>(text[at++]));
      }
    }
    if (options.add_special && (ids.empty() || ids.front() != kBegin)) ids.insert(ids.begin(), kBegin);
    if (ids.size() > options.max_tokens) return Error{ErrorCode::kContextLength, "more", {}};
    return ids;
  }

  std::string_view piece(TokenId token, bool special) const override {
    if (token < 0 || static_cast<std::size_t>(token) >= kVocabularySize || (token >= kEnd && !special)) return {};
    return vocabulary_.tokens[static_cast<std::size_t>(token)];
  }

  const ModelVocabulary& vocabulary() const override { return vocabulary_; }

 private:
  TokenId control_at(std::string_view text, std::size_t at, const EncodeOptions& options) const {
    const bool trusted = std::none_of(options.untrusted.begin(), options.untrusted.end(),
                                      [&](const TextRange& range) { return at >= range.begin && at < range.end; });
    for (TokenId id = kEnd; trusted && id <= kTurn; ++id) {
      if (text.substr(at).starts_with(piece(id, true))) return id;
    }
    return -1;
  }

  ModelVocabulary vocabulary_;
};

inline SampledToken byte_token(char c, float logprob = -0.5F) {
  return {static_cast<unsigned char>(c), logprob, {}};
}

}  // namespace takt::test
