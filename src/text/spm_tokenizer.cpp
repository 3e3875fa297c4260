#include "text/spm_tokenizer.h"

#include <bit>
#include <utility>

#include "text/byte_fallback.h"
#include "text/meta_words.h"
#include "text/symbol_merge.h"
#include "text/token_table.h"
#include "text/tokenizer_core.h"
#include "text/unicode.h"

namespace takt {
namespace {

// Rising with falling score: the order of IEEE 754 floats is that of their bits, sign aside.
std::uint32_t priority_of(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0F);  // -0 becomes 0
  const std::uint32_t rising = (bits >> 31U) != 0 ? ~bits : bits | 0x80000000U;
  return ~rising;
}

class SpmTokenizer final : public TokenizerCore {
 public:
  SpmTokenizer(ModelVocabulary vocabulary, const TokenizerTraits& traits)
      : TokenizerCore(std::move(vocabulary), traits), fallback_(vocabulary_) {
    set_pieces(meta_to_spaces);
    std::vector<std::pair<std::string_view, TokenId>> entries;
    priorities_.resize(vocabulary_.tokens.size(), Merge::kNever);
    for (std::size_t id = 0; id < vocabulary_.tokens.size(); ++id) {
      if (vocabulary_.types[id] != TokenType::kNormal && vocabulary_.types[id] != TokenType::kUnused) continue;
      if (vocabulary_.tokens[id].empty()) continue;
      entries.emplace_back(vocabulary_.tokens[id], static_cast<TokenId>(id));
      priorities_[id] = priority_of(vocabulary_.scores[id]);
      words_are_independent_ = words_are_independent_ && !joins_words(vocabulary_.tokens[id]);
    }
    tokens_ = TokenTable(entries);
    drop_build_data();
  }

 private:
  Status encode_plain(std::string_view text, bool after_special, std::vector<TokenId>& out) const override {
    std::string escaped;
    escaped.reserve(text.size() + text.size() / 2 + kMetaSpace.size());
    if (after_special && vocabulary_.add_space_prefix.value_or(true)) escaped += kMetaSpace;
    append_spaces_as_meta(text, escaped);
    SymbolMerger merger;
    std::vector<Symbol> symbols;
    if (words_are_independent_) {
      for_each_meta_word(escaped, [&](std::string_view word) { encode_word(word, merger, symbols, out); });
    } else {
      encode_word(escaped, merger, symbols, out);
    }
    return {};
  }

  void encode_word(std::string_view word, SymbolMerger& merger, std::vector<Symbol>& symbols,
                   std::vector<TokenId>& out) const {
    symbols.clear();
    for (std::size_t at = 0; at < word.size();) {
      const auto c = unicode::decode_one(word.substr(at));
      const std::size_t length = c.valid ? c.length : 1;
      const auto id = tokens_.find(word.substr(at, length));
      symbols.push_back({id.value_or(-1), static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(length)});
      at += length;
    }
    merger.run(symbols, [&](const Symbol& left, const Symbol& right) -> Merge {
      const auto merged = tokens_.find(word.substr(left.begin, left.length + right.length));
      return merged ? Merge{priorities_[static_cast<std::size_t>(*merged)], *merged} : Merge{};
    });
    for (const Symbol& symbol : symbols) {
      if (symbol.id >= 0) {
        out.push_back(symbol.id);
      } else {
        fallback_.append(word.substr(symbol.begin, symbol.length), out);
      }
    }
  }

  ByteFallback fallback_;
  TokenTable tokens_;
  std::vector<std::uint32_t> priorities_;
  bool words_are_independent_ = true;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> create_spm_tokenizer(ModelVocabulary vocabulary) {
  if (vocabulary.scores.empty()) {
    return Error::invalid("tokenizer.ggml.scores", "tokenizer.ggml.scores: the list is missing");
  }
  TokenizerTraits traits;
  traits.spaces_as_meta = true;
  if (vocabulary.add_bos.value_or(true)) traits.first = vocabulary.bos;
  if (vocabulary.add_eos.value_or(false)) traits.last = vocabulary.eos;
  return std::unique_ptr<Tokenizer>(std::make_unique<SpmTokenizer>(std::move(vocabulary), traits));
}

}  // namespace takt
