#include "text/unigram_tokenizer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "text/charsmap.h"
#include "text/meta_words.h"
#include "text/prefix_trie.h"
#include "text/tokenizer_core.h"
#include "text/unicode.h"

namespace takt {
namespace {

// SentencePiece's: an unknown character costs this much more than the worst token.
constexpr double kUnknownPenalty = 10.0;

class UnigramTokenizer final : public TokenizerCore {
 public:
  UnigramTokenizer(ModelVocabulary vocabulary, const TokenizerTraits& traits, Charsmap charsmap)
      : TokenizerCore(std::move(vocabulary), traits), charsmap_(std::move(charsmap)) {
    set_pieces(meta_to_spaces);
    std::vector<std::pair<std::string_view, std::int32_t>> entries;
    float lowest = std::numeric_limits<float>::max();
    for (std::size_t id = 0; id < vocabulary_.tokens.size(); ++id) {
      if (vocabulary_.types[id] != TokenType::kNormal) continue;
      entries.emplace_back(vocabulary_.tokens[id], static_cast<std::int32_t>(id));
      lowest = std::min(lowest, vocabulary_.scores[id]);
    }
    unknown_score_ = (entries.empty() ? 0.0 : static_cast<double>(lowest)) - kUnknownPenalty;
    trie_ = PrefixTrie(std::move(entries));
    drop_build_data();
  }

 private:
  struct Step {
    double score = -std::numeric_limits<double>::infinity();
    TokenId token = -1;  // that ends here; -1: an unknown character
    std::uint32_t begin = 0;
  };

  // The best way through a text is known at its end only.
  Status encode_plain(std::string_view text, bool, std::size_t, std::vector<TokenId>& out) const override {
    segment(normalize(text), out);
    return {};
  }

  // Replacements, then spaces: one before the text, runs as one and none at the end where the file says so, all as
  // U+2581.
  std::string normalize(std::string_view text) const {
    const bool squeeze = vocabulary_.remove_extra_whitespaces.value_or(true);
    std::string out;
    out.reserve(text.size() + text.size() / 2);
    bool space_pending = false;
    bool any = false;
    const auto put = [&](std::string_view piece) {
      for (const char c : piece) {
        if (c == ' ' && squeeze) {
          space_pending = true;
          continue;
        }
        if (!any && vocabulary_.add_space_prefix.value_or(true)) out += kMetaSpace;
        if (any && space_pending) out += kMetaSpace;
        any = true;
        space_pending = false;
        if (c == ' ') {
          out += kMetaSpace;
        } else {
          out.push_back(c);
        }
      }
    };
    while (!text.empty()) {
      if (const auto match = charsmap_.longest_match(text)) {
        put(match->replacement);
        text.remove_prefix(match->length);
        continue;
      }
      const auto c = unicode::decode_one(text);
      if (c.valid) {
        put(text.substr(0, c.length));
      } else {
        put("\xEF\xBF\xBD");
      }
      text.remove_prefix(c.length);
    }
    return out;
  }

  void segment(std::string_view text, std::vector<TokenId>& out) const {
    std::vector<Step> best(text.size() + 1);
    best[0].score = 0.0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t length = unicode::decode_one(text.substr(at)).length;
      const double score = best[at].score;
      bool whole_character = false;
      PrefixTrie::Node node = PrefixTrie::kRoot;
      for (std::size_t end = at; end < text.size();) {
        node = trie_.step(node, static_cast<std::uint8_t>(text[end]));
        if (node == PrefixTrie::kNone) break;
        ++end;
        const std::int32_t token = trie_.value(node);
        if (token == PrefixTrie::kNoValue) continue;
        whole_character = whole_character || end - at == length;
        const double candidate = score + static_cast<double>(vocabulary_.scores[static_cast<std::size_t>(token)]);
        if (candidate > best[end].score) best[end] = {candidate, token, static_cast<std::uint32_t>(at)};
      }
      if (!whole_character && score + unknown_score_ > best[at + length].score) {
        best[at + length] = {score + unknown_score_, -1, static_cast<std::uint32_t>(at)};
      }
      at += length;
    }
    append_path(best, out);
  }

  // Neighbouring unknown characters become one unknown token.
  void append_path(const std::vector<Step>& best, std::vector<TokenId>& out) const {
    const std::size_t first = out.size();
    bool unknown_before = false;
    for (std::size_t at = best.size() - 1; at > 0; at = best[at].begin) {
      const bool unknown = best[at].token < 0;
      if (!unknown) {
        out.push_back(best[at].token);
      } else if (!unknown_before && vocabulary_.unk) {
        out.push_back(*vocabulary_.unk);
      }
      unknown_before = unknown;
    }
    std::reverse(out.begin() + static_cast<std::ptrdiff_t>(first), out.end());
  }

  Charsmap charsmap_;
  PrefixTrie trie_;
  double unknown_score_ = 0.0;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> create_unigram_tokenizer(ModelVocabulary vocabulary) {
  if (vocabulary.scores.empty()) {
    return Error::invalid("tokenizer.ggml.scores", "tokenizer.ggml.scores: the list is missing");
  }
  auto charsmap = Charsmap::parse(vocabulary.precompiled_charsmap);
  if (!charsmap) return charsmap.error();
  TokenizerTraits traits;
  if (vocabulary.add_bos.value_or(false)) traits.first = vocabulary.bos;
  if (vocabulary.add_eos.value_or(true)) traits.last = vocabulary.eos;
  return std::unique_ptr<Tokenizer>(
      std::make_unique<UnigramTokenizer>(std::move(vocabulary), traits, std::move(charsmap).value()));
}

}  // namespace takt
