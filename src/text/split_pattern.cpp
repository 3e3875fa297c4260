#include "text/split_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "text/unicode.h"

namespace takt {
namespace {

// Steps of one match attempt. Our patterns need a few per byte of a piece; this bounds a single attempt on the longest
// text.
constexpr std::uint32_t kMatchLimit = 1U << 28U;
constexpr std::uint32_t kHeapLimitKib = 64U * 1024U;

std::string describe(int code) {
  std::array<PCRE2_UCHAR, 256> message{};
  if (pcre2_get_error_message(code, message.data(), message.size()) < 0) return "error " + std::to_string(code);
  return reinterpret_cast<const char*>(message.data());
}

}  // namespace

void MatchScratch::Free::operator()(pcre2_real_match_data_8* data) const {
  pcre2_match_data_free(data);
}
void MatchScratch::Free::operator()(pcre2_real_match_context_8* context) const {
  pcre2_match_context_free(context);
}
void SplitPattern::Free::operator()(pcre2_real_code_8* code) const {
  pcre2_code_free(code);
}

MatchScratch::MatchScratch()
    : data_(pcre2_match_data_create(1, nullptr)), context_(pcre2_match_context_create(nullptr)) {
  if (context_) {
    pcre2_set_match_limit(context_.get(), kMatchLimit);
    pcre2_set_heap_limit(context_.get(), kHeapLimitKib);
  }
}

Result<SplitPattern> SplitPattern::compile(const std::string& pattern) {
  int code = 0;
  PCRE2_SIZE offset = 0;
  SplitPattern compiled;
  compiled.code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                     PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY, &code, &offset, nullptr));
  if (!compiled.code_) {
    return Error::internal("pre-tokenizer pattern: " + describe(code) + " at byte " + std::to_string(offset));
  }
  // Without machine code PCRE2 interprets the pattern: slower, the same result.
  static_cast<void>(pcre2_jit_compile(compiled.code_.get(), PCRE2_JIT_COMPLETE));
  return compiled;
}

Result<bool> SplitPattern::split(std::string_view text, TextSpan span, MatchScratch& scratch,
                                 const SpanVisitor& visit) const {
  if (!scratch.data_ || !scratch.context_)
    return Error{ErrorCode::kResourceExhausted, "no memory to match a pattern", {}};
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data() + span.begin);
  const std::size_t length = span.end - span.begin;
  const auto emit = [&](std::size_t begin, std::size_t end) {
    return end == begin ||
           visit({span.begin + static_cast<std::uint32_t>(begin), span.begin + static_cast<std::uint32_t>(end)});
  };
  std::size_t piece_begin = 0;  // begin of what no match has taken yet
  std::size_t from = 0;
  while (from < length) {
    const auto match = [&](std::uint32_t options) {
      return pcre2_match(code_.get(), subject, length, from, PCRE2_NO_UTF_CHECK | options, scratch.data_.get(),
                         scratch.context_.get());
    };
    int count = match(0);
    // Machine code has a small stack; the interpreter uses the heap.
    if (count == PCRE2_ERROR_JIT_STACKLIMIT) count = match(PCRE2_NO_JIT);
    if (count == PCRE2_ERROR_NOMATCH) break;
    if (count < 0) {
      return Error{ErrorCode::kResourceExhausted, "the text can not be split into words: " + describe(count), {}};
    }
    const PCRE2_SIZE* range = pcre2_get_ovector_pointer(scratch.data_.get());
    if (!emit(piece_begin, range[0]) || !emit(range[0], range[1])) return false;
    piece_begin = range[1];
    from = range[1];
    if (range[0] == range[1]) {
      if (from >= length) break;
      from += unicode::decode_one(text.substr(span.begin + from, length - from)).length;
    }
  }
  return emit(piece_begin, length);
}

}  // namespace takt
