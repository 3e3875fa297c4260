// Text <-> token ids, by the rules of the model's file.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/ids.h"
#include "core/model_vocabulary.h"

namespace takt {

// Bytes [begin, end) of a text in which no control token may be recognised: text that came from outside.
struct TextRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct EncodeOptions {
  bool add_special =
      false;  // BOS, EOS, CLS, SEP as the file says; BOS is not doubled when the text already begins with it
  bool parse_special = false;                 // control tokens written in the text become tokens
  std::span<const TextRange> untrusted = {};  // with parse_special: where it does not hold; sorted, disjoint
  bool keep_written_first =
      false;  // keep a BOS (or CLS) that the text begins with beside the added one, as reference encoders do
  std::size_t max_tokens = std::numeric_limits<std::size_t>::max();  // see encode
};

// Immutable after creation; every method may be called from any thread.
class Tokenizer {
 public:
  // Errors name the vocabulary key that is missing, inconsistent or unsupported.
  static Result<std::unique_ptr<Tokenizer>> create(ModelVocabulary vocabulary);
  virtual ~Tokenizer() = default;

  // `text` may hold any bytes. Errors: kResourceExhausted when a pattern's match limit is hit; kContextLength when the
  // text has more than `max_tokens` tokens: the work stops where that is certain, however long the rest is.
  virtual Result<std::vector<TokenId>> encode(std::string_view text, const EncodeOptions& options) const = 0;

  // The bytes of one token alone, not cleaned up; empty for control tokens unless `special`. Unknown ids give nothing.
  virtual std::string_view piece(TokenId token, bool special) const = 0;

  virtual const ModelVocabulary& vocabulary() const = 0;
  bool is_end_of_generation(TokenId token) const;
};

}  // namespace takt
