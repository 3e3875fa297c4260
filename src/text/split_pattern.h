// A regular expression (PCRE2, compiled to machine code where possible) that cuts a text into pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;

namespace takt {

struct TextSpan {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

using SpanVisitor = std::function<bool(TextSpan)>;

// What matching needs besides the pattern. One per thread and call.
class MatchScratch {
 public:
  MatchScratch();

 private:
  friend class SplitPattern;
  struct Free {
    void operator()(pcre2_real_match_data_8* data) const;
    void operator()(pcre2_real_match_context_8* context) const;
  };
  std::unique_ptr<pcre2_real_match_data_8, Free> data_;
  std::unique_ptr<pcre2_real_match_context_8, Free> context_;
};

class SplitPattern {
 public:
  // Errors: kInternal with PCRE2's message (patterns are our own).
  static Result<SplitPattern> compile(const std::string& pattern);

  // Visits the matches in text[span] and what lies between them, in order, while the visitor returns true; true when it
  // always did. The pattern sees nothing outside the span, which must be valid UTF-8. Errors: kResourceExhausted when
  // the match limit is reached.
  Result<bool> split(std::string_view text, TextSpan span, MatchScratch& scratch, const SpanVisitor& visit) const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::unique_ptr<pcre2_real_code_8, Free> code_;
};

}  // namespace takt
