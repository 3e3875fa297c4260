#include "text/special_tokens.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "text/meta_words.h"

namespace takt {
namespace {

std::string with_plain_spaces(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (text.substr(0, kMetaSpace.size()) == kMetaSpace) {
      out.push_back(' ');
      text.remove_prefix(kMetaSpace.size());
    } else {
      out.push_back(text[0]);
      text.remove_prefix(1);
    }
  }
  return out;
}

// Phi-3's tokenizer takes the white space after its markers away; its GGUF files have no field that says so, only the
// name tells.
bool is_phi3(const ModelVocabulary& vocabulary) {
  std::string name = vocabulary.model_name;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.find("phi3") != std::string::npos || name.find("phi-3") != std::string::npos;
}

bool swallows_in_phi3(std::string_view spelling) {
  return spelling != "<unk>" && spelling != "<s>" && spelling != "<|endoftext|>";
}

bool is_ascii_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

SpecialTokens::SpecialTokens(const ModelVocabulary& vocabulary, bool spaces_as_meta) : spaces_as_meta_(spaces_as_meta) {
  const bool phi3 = is_phi3(vocabulary);
  swallows_space_after_.assign(vocabulary.tokens.size(), false);
  std::vector<std::pair<std::size_t, bool>> found;  // id, is control
  for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const TokenType type = vocabulary.types[id];
    const bool control = type == TokenType::kControl || type == TokenType::kUnknown;
    if ((!control && type != TokenType::kUserDefined) || vocabulary.tokens[id].empty()) continue;
    swallows_space_after_[id] = phi3 && swallows_in_phi3(vocabulary.tokens[id]);
    found.emplace_back(id, control);
    const bool plain_spaces = spaces_as_meta && !control;
    spellings_.push_back(plain_spaces ? with_plain_spaces(vocabulary.tokens[id]) : vocabulary.tokens[id]);
    (control ? starts_control_ : starts_user_defined_)[static_cast<std::uint8_t>(spellings_.back()[0])] = true;
  }
  if (spaces_as_meta && starts_user_defined_[' ']) {
    starts_user_defined_[static_cast<std::uint8_t>(kMetaSpace[0])] = true;
  }
  std::vector<std::pair<std::string_view, std::int32_t>> user_defined;
  std::vector<std::pair<std::string_view, std::int32_t>> control;
  for (std::size_t i = 0; i < found.size(); ++i) {
    (found[i].second ? control : user_defined).emplace_back(spellings_[i], static_cast<std::int32_t>(found[i].first));
  }
  user_defined_ = PrefixTrie(std::move(user_defined));
  control_ = PrefixTrie(std::move(control));
  spellings_.clear();
  spellings_.shrink_to_fit();
}

SpecialTokens::Match SpecialTokens::longest_user_defined(std::string_view text, std::size_t begin) const {
  Match best;
  PrefixTrie::Node node = PrefixTrie::kRoot;
  for (std::size_t at = begin; at < text.size();) {
    const bool meta = spaces_as_meta_ && text.substr(at, kMetaSpace.size()) == kMetaSpace;
    node = user_defined_.step(node, meta ? std::uint8_t{' '} : static_cast<std::uint8_t>(text[at]));
    if (node == PrefixTrie::kNone) break;
    at += meta ? kMetaSpace.size() : 1;
    if (user_defined_.value(node) != PrefixTrie::kNoValue) best = {user_defined_.value(node), at};
  }
  return best;
}

SpecialTokens::Match SpecialTokens::longest_control(std::string_view text, std::size_t begin,
                                                    std::size_t trusted_until) const {
  Match best;
  PrefixTrie::Node node = PrefixTrie::kRoot;
  for (std::size_t at = begin; at < trusted_until; ++at) {
    node = control_.step(node, static_cast<std::uint8_t>(text[at]));
    if (node == PrefixTrie::kNone) break;
    if (control_.value(node) != PrefixTrie::kNoValue) best = {control_.value(node), at + 1};
  }
  return best;
}

void SpecialTokens::split(std::string_view text, bool parse_special, std::span<const TextRange> untrusted,
                          const std::function<void(const TextSegment&)>& visit) const {
  std::size_t plain_begin = 0;
  std::size_t range = 0;
  const auto end_plain = [&](std::size_t end) {
    if (end > plain_begin) visit({plain_begin, end, -1});
  };
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<std::uint8_t>(text[at]);
    Match match;
    if (starts_user_defined_[byte]) match = longest_user_defined(text, at);
    if (parse_special && starts_control_[byte]) {
      const auto is_past = [&](const TextRange& r) { return r.end <= at || r.begin >= r.end; };
      while (range < untrusted.size() && is_past(untrusted[range])) ++range;
      const std::size_t trusted_until =
          range < untrusted.size() ? std::min(text.size(), untrusted[range].begin) : text.size();
      const Match control = longest_control(text, at, trusted_until);
      if (control.token >= 0 && control.end >= match.end) match = control;
    }
    if (match.token < 0) {
      ++at;
      continue;
    }
    end_plain(at);
    visit({at, match.end, match.token});
    at = match.end;
    if (swallows_space_after_[static_cast<std::size_t>(match.token)]) {
      while (at < text.size() && is_ascii_space(text[at])) ++at;
    }
    plain_begin = at;
  }
  end_plain(text.size());
}

}  // namespace takt
