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

Result<bool> PreTokenizer::split(std::string_view text, const SpanVisitor& visit) const {
  std::vector<MatchScratch> scratches(patterns_.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t valid = unicode::valid_prefix_length(text.substr(at));
    const std::size_t length = valid > 0 ? valid : unicode::decode_one(text.substr(at)).length;
    const TextSpan span{static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + length)};
    auto more = valid > 0 ? split_by(0, text, span, scratches, visit) : Result<bool>(visit(span));
    if (!more || !*more) return more;
    at += length;
  }
  return true;
}

Result<bool> PreTokenizer::split_by(std::size_t pattern, std::string_view text, TextSpan span,
                                    std::vector<MatchScratch>& scratches, const SpanVisitor& visit) const {
  if (pattern == patterns_.size()) return visit(span);
  if (pattern + 1 == patterns_.size()) return patterns_[pattern].split(text, span, scratches[pattern], visit);
  Result<bool> inner = true;
  const auto outer = patterns_[pattern].split(text, span, scratches[pattern], [&](TextSpan piece) {
    inner = split_by(pattern + 1, text, piece, scratches, visit);
    return inner && *inner;
  });
  return inner ? outer : inner;
}

}  // namespace takt
