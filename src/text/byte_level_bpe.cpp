#include "text/byte_level_bpe.h"

#include <array>
#include <utility>

#include "text/merge_ranks.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer_core.h"
#include "text/unicode.h"

namespace takt {
namespace {

// The character that spells a byte: printable Latin-1 stands for itself, the others for U+0100 and up in their order.
std::array<char32_t, 256> byte_characters() {
  std::array<char32_t, 256> characters{};
  char32_t next = 0x100;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    characters[byte] = printable ? static_cast<char32_t>(byte) : next++;
  }
  return characters;
}

// Spelled token -> its bytes. What spells no byte stays as it is.
class SpellingDecoder {
 public:
  SpellingDecoder() {
    byte_of_.fill(-1);
    const auto characters = byte_characters();
    for (std::size_t byte = 0; byte < 256; ++byte) byte_of_[characters[byte]] = static_cast<int>(byte);
  }
  std::string operator()(std::string_view spelled) const {
    std::string bytes;
    bytes.reserve(spelled.size());
    while (!spelled.empty()) {
      const auto c = unicode::decode_one(spelled);
      if (c.valid && c.code_point < byte_of_.size() && byte_of_[c.code_point] >= 0) {
        bytes.push_back(static_cast<char>(byte_of_[c.code_point]));
      } else {
        bytes.append(spelled.substr(0, c.length));
      }
      spelled.remove_prefix(c.length);
    }
    return bytes;
  }

 private:
  std::array<int, 0x180> byte_of_{};
};

class ByteLevelBpe final : public TokenizerCore {
 public:
  ByteLevelBpe(ModelVocabulary vocabulary, const TokenizerTraits& traits, PreTokenizerRule rule, PreTokenizer pre,
               MergeRanks ranks)
      : TokenizerCore(std::move(vocabulary), traits),
        rule_(std::move(rule)),
        pre_(std::move(pre)),
        ranks_(std::move(ranks)) {
    const SpellingDecoder decode;
    set_pieces(decode);
    byte_ids_.fill(-1);
    std::vector<std::pair<std::string_view, TokenId>> words;
    for (std::size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
      if (vocabulary_.types[i] != TokenType::kNormal) continue;
      const auto id = static_cast<TokenId>(i);
      const std::string_view bytes = piece(id, false);
      if (bytes.size() == 1) byte_ids_[static_cast<std::uint8_t>(bytes[0])] = id;
      if (rule_.whole_words) words.emplace_back(bytes, id);
    }
    if (rule_.whole_words) whole_words_ = TokenTable(words);
    drop_build_data();
  }

 private:
  Status encode_plain(std::string_view text, bool, std::vector<TokenId>& out) const override {
    if (!rule_.normalize_nfc) return encode_normalized(text, out);
    return encode_normalized(unicode::to_nfc(text), out);
  }

  Status encode_normalized(std::string_view text, std::vector<TokenId>& out) const {
    std::vector<TextSpan> words;
    if (auto status = pre_.split(text, words); !status) return status;
    SymbolMerger merger;
    std::vector<Symbol> symbols;
    const auto rule = [&](const Symbol& left, const Symbol& right) { return ranks_.find(left.id, right.id); };
    for (const TextSpan word : words) {
      const std::string_view bytes = text.substr(word.begin, word.end - word.begin);
      if (rule_.whole_words) {
        if (const auto id = whole_words_.find(bytes)) {
          out.push_back(*id);
          continue;
        }
      }
      symbols.clear();
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        const TokenId id = byte_ids_[static_cast<std::uint8_t>(bytes[i])];
        symbols.push_back({id, static_cast<std::uint32_t>(i), 1});
      }
      merger.run(symbols, rule);
      for (const Symbol& symbol : symbols) {
        // A byte without a token is lost, as in the published tokenizers; it still keeps its neighbours apart.
        if (symbol.id >= 0) out.push_back(symbol.id);
      }
    }
    return {};
  }

  PreTokenizerRule rule_;
  PreTokenizer pre_;
  MergeRanks ranks_;
  TokenTable whole_words_;  // by their bytes
  std::array<TokenId, 256> byte_ids_{};
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> create_byte_level_bpe(ModelVocabulary vocabulary) {
  auto rule = pre_tokenizer_rule(vocabulary.pre);
  if (!rule) return rule.error();
  auto pre = PreTokenizer::create(*rule);
  if (!pre) return pre.error();
  std::vector<std::pair<std::string_view, TokenId>> spellings;
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    if (vocabulary.types[id] == TokenType::kNormal)
      spellings.emplace_back(vocabulary.tokens[id], static_cast<TokenId>(id));
  }
  auto ranks = MergeRanks::build(vocabulary.merges, TokenTable(spellings));
  if (!ranks) return ranks.error();

  TokenizerTraits traits;
  if (vocabulary.add_bos.value_or(rule->add_bos)) traits.first = vocabulary.bos;
  if (vocabulary.add_eos.value_or(false)) traits.last = vocabulary.eos;
  return std::unique_ptr<Tokenizer>(std::make_unique<ByteLevelBpe>(
      std::move(vocabulary), traits, std::move(rule).value(), std::move(pre).value(), std::move(ranks).value()));
}

}  // namespace takt
