#include "text/byte_level_bpe.h"

#include <algorithm>
#include <array>
#include <limits>
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
    std::size_t longest = 1;
    for (std::size_t i = 0; i < vocabulary_.tokens.size(); ++i) {
      if (vocabulary_.types[i] != TokenType::kNormal) continue;
      const auto id = static_cast<TokenId>(i);
      const std::string_view bytes = piece(id, false);
      longest = std::max(longest, bytes.size());
      if (bytes.size() == 1) byte_ids_[static_cast<std::uint8_t>(bytes[0])] = id;
      if (rule_.whole_words) words.emplace_back(bytes, id);
    }
    if (rule_.whole_words) whole_words_ = TokenTable(words);
    const bool covers_all = std::all_of(byte_ids_.begin(), byte_ids_.end(), [](TokenId id) { return id >= 0; });
    if (covers_all) longest_ = longest;
    drop_build_data();
  }

 private:
  Status encode_plain(std::string_view text, bool, std::size_t most, std::vector<TokenId>& out) const override {
    if (!rule_.normalize_nfc) return encode_normalized(text, most, out);
    return encode_normalized(unicode::to_nfc(text), most, out);
  }

  Status encode_normalized(std::string_view text, std::size_t most, std::vector<TokenId>& out) const {
    SymbolMerger merger;
    std::vector<Symbol> symbols;
    const auto all = pre_.split(text, [&](TextSpan span) {
      const std::string_view word = text.substr(span.begin, span.end - span.begin);
      if (out.size() + word.size() / longest_ > most) return false;
      encode_word(word, merger, symbols, out);
      return true;
    });
    if (!all) return all.error();
    return *all ? Status{} : too_many_tokens(most);
  }

  void encode_word(std::string_view word, SymbolMerger& merger, std::vector<Symbol>& symbols,
                   std::vector<TokenId>& out) const {
    if (rule_.whole_words) {
      if (const auto id = whole_words_.find(word)) {
        out.push_back(*id);
        return;
      }
    }
    symbols.clear();
    for (std::size_t i = 0; i < word.size(); ++i) {
      const TokenId id = byte_ids_[static_cast<std::uint8_t>(word[i])];
      symbols.push_back({id, static_cast<std::uint32_t>(i), 1});
    }
    merger.run(symbols, [&](const Symbol& left, const Symbol& right) { return ranks_.find(left.id, right.id); });
    for (const Symbol& symbol : symbols) {
      // A byte without a token is lost, as in the published tokenizers; it still keeps its neighbours apart.
      if (symbol.id >= 0) out.push_back(symbol.id);
    }
  }

  PreTokenizerRule rule_;
  PreTokenizer pre_;
  MergeRanks ranks_;
  TokenTable whole_words_;  // by their bytes
  std::array<TokenId, 256> byte_ids_{};
  // Bytes that one token stands for at most; while some bytes have none, any number of them may be lost.
  std::size_t longest_ = std::numeric_limits<std::size_t>::max();
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
