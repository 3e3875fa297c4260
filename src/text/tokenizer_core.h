// What all kinds of tokenizer share: special tokens, the tokens added around a text, and pieces. A kind implements
// plain text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "text/special_tokens.h"
#include "text/tokenizer.h"

namespace takt {

struct TokenizerTraits {
  bool spaces_as_meta = false;   // see SpecialTokens
  std::optional<TokenId> first;  // added before a text when asked for
  std::optional<TokenId> last;   // and after it
};

class TokenizerCore : public Tokenizer {
 public:
  Result<std::vector<TokenId>> encode(std::string_view text, const EncodeOptions& options) const final;
  std::string_view piece(TokenId token, bool special) const final;
  const ModelVocabulary& vocabulary() const final { return vocabulary_; }

 protected:
  // `pieces`: the bytes of every token as read by this kind; ordinary tokens only, others are spelled as in the file.
  TokenizerCore(ModelVocabulary vocabulary, const TokenizerTraits& traits);

  // To be called once by the kind's own set-up: lays out the pieces; `decode` gives the bytes of an ordinary token.
  template <typename Decode>
  void set_pieces(const Decode& decode) {
    piece_begin_.reserve(vocabulary_.tokens.size() + 1);
    piece_begin_.push_back(0);
    for (std::size_t id = 0; id < vocabulary_.tokens.size(); ++id) {
      switch (vocabulary_.types[id]) {
        case TokenType::kNormal:
          pieces_ += decode(vocabulary_.tokens[id]);
          break;
        case TokenType::kByte:
          pieces_ += decode_byte_token(vocabulary_.tokens[id]);
          break;
        case TokenType::kUnused:
          break;
        case TokenType::kUnknown:
        case TokenType::kControl:
        case TokenType::kUserDefined:
          pieces_ += vocabulary_.tokens[id];
          break;
      }
      piece_begin_.push_back(static_cast<std::uint32_t>(pieces_.size()));
    }
  }

  // Appends the tokens of a text without special ones. `after_special`: the text begins, or a special token stands
  // before it. Errors: too_many_tokens, as soon as it is certain that `out` comes to more than `most` tokens; a kind
  // may also find out only at the end, and then leaves it to its caller.
  virtual Status encode_plain(std::string_view text, bool after_special, std::size_t most,
                              std::vector<TokenId>& out) const = 0;

  static Error too_many_tokens(std::size_t most);

  // Frees what only building needs.
  void drop_build_data();

  ModelVocabulary vocabulary_;

 private:
  static std::string decode_byte_token(std::string_view token);  // "<0x41>" -> "A"; others as they are

  bool is_hidden(std::size_t id) const;

  SpecialTokens special_;
  TokenizerTraits traits_;
  std::string pieces_;
  std::vector<std::uint32_t> piece_begin_;
};

// Value of "<0xHH>", or nothing.
std::optional<std::uint8_t> byte_token_value(std::string_view token);

// U+2581 back to spaces.
std::string meta_to_spaces(std::string_view text);
// Spaces to U+2581, appended to `out`.
void append_spaces_as_meta(std::string_view text, std::string& out);

}  // namespace takt
