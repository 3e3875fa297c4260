#include "text/meta_space_bpe.h"

#include <utility>

#include "text/merge_ranks.h"
#include "text/meta_space_tokenizer.h"

namespace takt {
namespace {

// The file lists the pairs that merge, in order.
struct RankedPairs {
  MergeRanks ranks;

  Merge operator()(const TokenTable&, std::string_view, const Symbol& left, const Symbol& right) const {
    return left.id >= 0 && right.id >= 0 ? ranks.find(left.id, right.id) : Merge{};
  }
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> create_meta_space_bpe(ModelVocabulary vocabulary) {
  MetaSpaceRules rules;
  rules.words_are_independent = true;
  std::vector<std::pair<std::string_view, TokenId>> spellings;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (vocabulary.types[id] != TokenType::kNormal) continue;
    spellings.emplace_back(vocabulary.tokens[id], static_cast<TokenId>(id));
    rules.words_are_independent = rules.words_are_independent && !joins_words(vocabulary.tokens[id]);
  }
  rules.tokens = TokenTable(spellings);
  rules.adds_space = vocabulary.add_space_prefix.value_or(false);
  auto ranks = MergeRanks::build(vocabulary.merges, rules.tokens);
  if (!ranks) return ranks.error();
  TokenizerTraits traits;
  // Gemma 4 was trained with a BOS before every text; some files deny it.
  traits.first = vocabulary.bos;
  if (vocabulary.add_eos.value_or(false)) traits.last = vocabulary.eos;
  return std::unique_ptr<Tokenizer>(std::make_unique<MetaSpaceTokenizer<RankedPairs>>(
      std::move(vocabulary), traits, std::move(rules), RankedPairs{std::move(ranks).value()}));
}

}  // namespace takt
