#include "text/wordpiece_tokenizer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "text/meta_words.h"
#include "text/prefix_trie.h"
#include "text/tokenizer_core.h"
#include "text/unicode.h"

namespace takt {
namespace {

constexpr std::size_t kMaxWordCharacters = 100;  // longer words are unknown

struct CodePointRange {
  char32_t first, last;
};

// The blocks that BERT sets apart character by character.
constexpr std::array<CodePointRange, 8> kCjk{{{0x4E00, 0x9FFF},
                                              {0x3400, 0x4DBF},
                                              {0x20000, 0x2A6DF},
                                              {0x2A700, 0x2B73F},
                                              {0x2B740, 0x2B81F},
                                              {0x2B920, 0x2CEAF},
                                              {0xF900, 0xFAFF},
                                              {0x2F800, 0x2FA1F}}};

bool is_cjk(char32_t c) {
  return std::any_of(kCjk.begin(), kCjk.end(),
                     [&](const CodePointRange& range) { return c >= range.first && c <= range.last; });
}

bool is_separate(char32_t c) {
  const bool ascii_sign =
      (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  return ascii_sign || unicode::is_punctuation(c);
}

bool is_dropped(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  return c == 0 || c == unicode::kReplacement || unicode::is_other(c);
}

class WordPieceTokenizer final : public TokenizerCore {
 public:
  WordPieceTokenizer(ModelVocabulary vocabulary, const TokenizerTraits& traits)
      : TokenizerCore(std::move(vocabulary), traits) {
    set_pieces(meta_to_spaces);
    std::vector<std::pair<std::string_view, std::int32_t>> entries;
    for (std::size_t id = 0; id < vocabulary_.tokens.size(); ++id) {
      if (vocabulary_.types[id] != TokenType::kNormal) continue;
      entries.emplace_back(vocabulary_.tokens[id], static_cast<std::int32_t>(id));
    }
    trie_ = PrefixTrie(std::move(entries));
    drop_build_data();
  }

 private:
  // One word under way: its bytes behind a U+2581, and how many characters they are.
  struct Word {
    std::string bytes{kMetaSpace};
    std::size_t characters = 0;
  };

  Status encode_plain(std::string_view text, bool, std::size_t most, std::vector<TokenId>& out) const override {
    const std::string decomposed = unicode::to_nfd(with_separate_cjk(text));
    Word word;
    for (std::string_view rest = decomposed; !rest.empty();) {
      if (out.size() > most) return too_many_tokens(most);
      const auto c = unicode::decode_one(rest);
      rest.remove_prefix(c.length);
      if (unicode::is_nonspacing_mark(c.code_point)) continue;
      if (unicode::is_white_space(c.code_point)) {
        finish(word, out);
        continue;
      }
      const bool separate = is_separate(c.code_point);
      if (separate) finish(word, out);
      unicode::append_utf8(word.bytes, unicode::to_lower(c.code_point));
      ++word.characters;
      if (separate) finish(word, out);
    }
    finish(word, out);
    return {};
  }

  // Without control characters and invalid bytes, white space as spaces, ideographs between spaces.
  static std::string with_separate_cjk(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
      const auto c = unicode::decode_one(text);
      const std::string_view bytes = text.substr(0, c.length);
      text.remove_prefix(c.length);
      if (!c.valid || is_dropped(c.code_point)) continue;
      if (unicode::is_white_space(c.code_point)) {
        out.push_back(' ');
      } else if (is_cjk(c.code_point)) {
        out.append(" ").append(bytes).append(" ");
      } else {
        out.append(bytes);
      }
    }
    return out;
  }

  void finish(Word& word, std::vector<TokenId>& out) const {
    if (word.characters > 0) {
      const std::size_t before = out.size();
      if (word.characters > kMaxWordCharacters || !append_longest_pieces(word.bytes, out)) {
        out.resize(before);
        if (vocabulary_.unk) out.push_back(*vocabulary_.unk);
      }
    }
    word.bytes = kMetaSpace;
    word.characters = 0;
  }

  // False when some part of the word has no piece.
  bool append_longest_pieces(std::string_view word, std::vector<TokenId>& out) const {
    for (std::size_t at = 0; at < word.size();) {
      if (at > 0 && word.substr(at, kMetaSpace.size()) == kMetaSpace) return false;
      std::int32_t best = PrefixTrie::kNoValue;
      std::size_t best_end = at;
      PrefixTrie::Node node = PrefixTrie::kRoot;
      for (std::size_t end = at; end < word.size();) {
        node = trie_.step(node, static_cast<std::uint8_t>(word[end]));
        if (node == PrefixTrie::kNone) break;
        ++end;
        if (trie_.value(node) != PrefixTrie::kNoValue) {
          best = trie_.value(node);
          best_end = end;
        }
      }
      // A lone U+2581 is no word beginning, and a U+2581 of the text itself continues none.
      if (best == PrefixTrie::kNoValue || best_end == kMetaSpace.size()) return false;
      out.push_back(best);
      at = best_end;
    }
    return true;
  }

  PrefixTrie trie_;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> create_wordpiece_tokenizer(ModelVocabulary vocabulary) {
  TokenizerTraits traits;
  traits.first = vocabulary.cls ? vocabulary.cls : vocabulary.bos;
  traits.last = vocabulary.sep ? vocabulary.sep : vocabulary.eos;
  return std::unique_ptr<Tokenizer>(std::make_unique<WordPieceTokenizer>(std::move(vocabulary), traits));
}

}  // namespace takt
