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

  // The words of a text, side by side from begin to end. Invalid UTF-8 stands alone.
  Status split(std::string_view text, std::vector<TextSpan>& words) const;

 private:
  std::vector<SplitPattern> patterns_;
};

}  // namespace takt
