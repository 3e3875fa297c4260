#include "text/spm_tokenizer.h"

#include <bit>
#include <utility>

#include "text/meta_space_tokenizer.h"

namespace takt {
namespace {

// Rising with falling score: the order of IEEE 754 floats is that of their bits, sign aside.
std::uint32_t priority_of(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0F);  // -0 becomes 0
  const std::uint32_t rising = (bits >> 31U) != 0 ? ~bits : bits | 0x80000000U;
  return ~rising;
}

// A pair merges when its text is a token, the better scored first.
struct ScoredTexts {
  std::vector<std::uint32_t> priorities;  // by id

  Merge operator()(const TokenTable& tokens, std::string_view word, const Symbol& left, const Symbol& right) const {
    const auto merged = tokens.find(word.substr(left.begin, left.length + right.length));
    return merged ? Merge{priorities[static_cast<std::size_t>(*merged)], *merged} : Merge{};
  }
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> create_spm_tokenizer(ModelVocabulary vocabulary) {
  if (vocabulary.scores.empty()) {
    return Error::invalid("tokenizer.ggml.scores", "tokenizer.ggml.scores: the list is missing");
  }
  MetaSpaceRules rules;
  rules.words_are_independent = true;
  ScoredTexts pairs;
  pairs.priorities.resize(vocabulary.tokens.size(), Merge::kNever);
  std::vector<std::pair<std::string_view, TokenId>> entries;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (vocabulary.types[id] != TokenType::kNormal && vocabulary.types[id] != TokenType::kUnused) continue;
    if (vocabulary.tokens[id].empty()) continue;
    entries.emplace_back(vocabulary.tokens[id], static_cast<TokenId>(id));
    pairs.priorities[id] = priority_of(vocabulary.scores[id]);
    rules.words_are_independent = rules.words_are_independent && !joins_words(vocabulary.tokens[id]);
  }
  rules.tokens = TokenTable(entries);
  rules.adds_space = vocabulary.add_space_prefix.value_or(true);
  TokenizerTraits traits;
  traits.spaces_as_meta = true;
  if (vocabulary.add_bos.value_or(true)) traits.first = vocabulary.bos;
  if (vocabulary.add_eos.value_or(false)) traits.last = vocabulary.eos;
  return std::unique_ptr<Tokenizer>(std::make_unique<MetaSpaceTokenizer<ScoredTexts>>(
      std::move(vocabulary), traits, std::move(rules), std::move(pairs)));
}

}  // namespace takt
