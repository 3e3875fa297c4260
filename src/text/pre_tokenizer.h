// Cuts plain text into the words inside which byte-level BPE merges, by the rules that tokenizer.ggml.pre names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/split_pattern.h"

namespace takt {

struct PreTokenizerRule {
  std::vector<std::string> patterns;  // each cuts further what the one before left
  bool whole_words = false;           // a word that is a token is taken as it is, whatever the merges say
  bool normalize_nfc = false;         // the publisher's tokenizer brings text to form C first
  bool add_bos = false;               // when the file does not say
};

// Errors: kInvalidArgument naming tokenizer.ggml.pre and the value, for names that are not known.
Result<PreTokenizerRule> pre_tokenizer_rule(const std::string& name);

class PreTokenizer {
 public:
  static Result<PreTokenizer> create(const PreTokenizerRule& rule);

  // Visits the words of a text, side by side from begin to end, while the visitor returns true; true when it always
  // did. Invalid UTF-8 stands alone. Errors: those of SplitPattern::split.
  Result<bool> split(std::string_view text, const SpanVisitor& visit) const;

 private:
  // Cuts by the patterns from this one on; one scratch for each pattern.
  Result<bool> split_by(std::size_t pattern, std::string_view text, TextSpan span, std::vector<MatchScratch>& scratches,
                        const SpanVisitor& visit) const;

  std::vector<SplitPattern> patterns_;
};

}  // namespace takt
