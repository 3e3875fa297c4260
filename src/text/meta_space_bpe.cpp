#include "text/meta_space_bpe.h"

#include <utility>

#include "text/byte_fallback.h"
#include "text/merge_ranks.h"
#include "text/meta_words.h"
#include "text/tokenizer_core.h"
#include "text/unicode.h"

namespace takt {
namespace {

class MetaSpaceBpe final : public TokenizerCore {
 public:
  MetaSpaceBpe(ModelVocabulary vocabulary, const TokenizerTraits& traits, TokenTable tokens, MergeRanks ranks)
      : TokenizerCore(std::move(vocabulary), traits),
        fallback_(vocabulary_),
        tokens_(std::move(tokens)),
        ranks_(std::move(ranks)) {
    set_pieces(meta_to_spaces);
    for (std::size_t id = 0; id < vocabulary_.tokens.size(); ++id) {
      if (vocabulary_.types[id] == TokenType::kNormal && joins_words(vocabulary_.tokens[id]))
        words_are_independent_ = false;
    }
    drop_build_data();
  }

 private:
  Status encode_plain(std::string_view text, bool after_special, std::vector<TokenId>& out) const override {
    std::string escaped;
    escaped.reserve(text.size() + text.size() / 2 + kMetaSpace.size());
    if (after_special && vocabulary_.add_space_prefix.value_or(false)) escaped += kMetaSpace;
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
    merger.run(symbols, [&](const Symbol& left, const Symbol& right) {
      return left.id >= 0 && right.id >= 0 ? ranks_.find(left.id, right.id) : Merge{};
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
  MergeRanks ranks_;
  bool words_are_independent_ = true;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> create_meta_space_bpe(ModelVocabulary vocabulary) {
  std::vector<std::pair<std::string_view, TokenId>> spellings;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (vocabulary.types[id] == TokenType::kNormal)
      spellings.emplace_back(vocabulary.tokens[id], static_cast<TokenId>(id));
  }
  TokenTable tokens(spellings);
  auto ranks = MergeRanks::build(vocabulary.merges, tokens);
  if (!ranks) return ranks.error();
  TokenizerTraits traits;
  // Gemma 4 was trained with a BOS before every text; some files deny it.
  traits.first = vocabulary.bos;
  if (vocabulary.add_eos.value_or(false)) traits.last = vocabulary.eos;
  return std::unique_ptr<Tokenizer>(
      std::make_unique<MetaSpaceBpe>(std::move(vocabulary), traits, std::move(tokens), std::move(ranks).value()));
}

}  // namespace takt
