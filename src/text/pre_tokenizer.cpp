#include "text/pre_tokenizer.h"

#include <utility>

#include "text/unicode.h"

namespace takt {

Result<PreTokenizer> PreTokenizer::create(const PreTokenizerRule& rule) {
  PreTokenizer created;
  for (const std::string& pattern : rule.patterns) {
    auto compiled = SplitPattern::compile(pattern);
    if (!compiled) return compiled.error();
    created.patterns_.push_back(std::move(compiled).value());
  }
  return created;
}

Status PreTokenizer::split(std::string_view text, std::vector<TextSpan>& words) const {
  std::vector<TextSpan> spans;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t valid = unicode::valid_prefix_length(text.substr(at));
    const std::size_t length = valid > 0 ? valid : unicode::decode_one(text.substr(at)).length;
    spans.push_back({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + length)});
    at += length;
  }
  MatchScratch scratch;
  std::vector<TextSpan> finer;
  for (const SplitPattern& pattern : patterns_) {
    finer.clear();
    for (const TextSpan span : spans) {
      const bool valid = unicode::decode_one(text.substr(span.begin)).valid;
      if (!valid) {
        finer.push_back(span);
      } else if (auto status = pattern.split(text, span, scratch, finer); !status) {
        return status;
      }
    }
    spans.swap(finer);
  }
  words.swap(spans);
  return {};
}

}  // namespace takt
