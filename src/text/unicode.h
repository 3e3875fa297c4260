// UTF-8 and the few Unicode facts that tokenizers need. Invalid bytes are values here, never errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace takt::unicode {

inline constexpr char32_t kReplacement = 0xFFFD;

struct DecodedChar {
  char32_t code_point = kReplacement;
  std::size_t length = 0;  // bytes taken; for invalid input the length of the maximal subpart (Unicode 15, section 3.9)
  bool valid = false;
};

// The character at the start of a non-empty text.
DecodedChar decode_one(std::string_view text);

// Appends one code point as UTF-8.
void append_utf8(std::string& out, char32_t code_point);

// Length of the longest valid prefix, in bytes.
std::size_t valid_prefix_length(std::string_view text);

// White_Space (Unicode 15, PropList.txt).
bool is_white_space(char32_t code_point);

// General categories.
bool is_other(char32_t code_point);  // Cc, Cf, Cs, Co
bool is_nonspacing_mark(char32_t code_point);
bool is_punctuation(char32_t code_point);

char32_t to_lower(char32_t code_point);

// Normalisation forms C and D of a text; invalid bytes stay as they are. Linear but for sorting a run of combining
// marks (n log n).
std::string to_nfc(std::string_view text);
std::string to_nfd(std::string_view text);

}  // namespace takt::unicode
