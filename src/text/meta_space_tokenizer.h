// What tokenizers over words of U+2581 share: spaces become U+2581, characters that are tokens merge pair by pair
// inside a word, and what has no token falls back to bytes. Open is only how a pair's merge is found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/byte_fallback.h"
#include "text/meta_words.h"
#include "text/symbol_merge.h"
#include "text/token_table.h"
#include "text/tokenizer_core.h"
#include "text/unicode.h"

namespace takt {

struct MetaSpaceRules {
  TokenTable tokens;                   // that a text's characters and their merges may become
  bool adds_space = false;             // U+2581 before a text, and behind each special token
  bool words_are_independent = false;  // no token joins words: see for_each_meta_word
};

// PairRule: Merge operator()(const TokenTable& tokens, std::string_view word, const Symbol& left, const Symbol& right)
// const; `word` is what the symbols' places are in, an id of -1 is a character without a token.
template <typename PairRule>
class MetaSpaceTokenizer final : public TokenizerCore {
 public:
  MetaSpaceTokenizer(ModelVocabulary vocabulary, const TokenizerTraits& traits, MetaSpaceRules rules,
                     PairRule pair_rule)
      : TokenizerCore(std::move(vocabulary), traits),
        fallback_(vocabulary_),
        rules_(std::move(rules)),
        pair_rule_(std::move(pair_rule)) {
    set_pieces(meta_to_spaces);
    drop_build_data();
  }

 private:
  Status encode_plain(std::string_view text, bool after_special, std::size_t most,
                      std::vector<TokenId>& out) const override {
    std::string escaped;
    escaped.reserve(text.size() + text.size() / 2 + kMetaSpace.size());
    if (after_special && rules_.adds_space) escaped += kMetaSpace;
    append_spaces_as_meta(text, escaped);
    SymbolMerger merger;
    std::vector<Symbol> symbols;
    const auto encode_within = [&](std::string_view word) {
      if (out.size() + fewest_tokens(word) > most) return false;
      encode_word(word, merger, symbols, out);
      return true;
    };
    const bool fits =
        rules_.words_are_independent ? for_each_meta_word(escaped, encode_within) : encode_within(escaped);
    return fits ? Status{} : too_many_tokens(most);
  }

  // Every byte is in a token, unless unknown characters share one.
  std::size_t fewest_tokens(std::string_view word) const {
    return fallback_.covers_all() ? word.size() / std::max<std::size_t>(rules_.tokens.longest(), 1) : 0;
  }

  void encode_word(std::string_view word, SymbolMerger& merger, std::vector<Symbol>& symbols,
                   std::vector<TokenId>& out) const {
    symbols.clear();
    for (std::size_t at = 0; at < word.size();) {
      const auto c = unicode::decode_one(word.substr(at));
      const std::size_t length = c.valid ? c.length : 1;
      const auto id = rules_.tokens.find(word.substr(at, length));
      symbols.push_back({id.value_or(-1), static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(length)});
      at += length;
    }
    merger.run(symbols,
               [&](const Symbol& left, const Symbol& right) { return pair_rule_(rules_.tokens, word, left, right); });
    for (const Symbol& symbol : symbols) {
      if (symbol.id >= 0) {
        out.push_back(symbol.id);
      } else {
        fallback_.append(word.substr(symbol.begin, symbol.length), out);
      }
    }
  }

  ByteFallback fallback_;
  MetaSpaceRules rules_;
  PairRule pair_rule_;
};

}  // namespace takt
