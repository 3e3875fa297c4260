#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

namespace takt::unicode {
namespace {

// What may follow a lead byte (Unicode 15, table 3-7).
struct LeadByte {
  std::size_t length = 0;  // 0: can not begin a character
  std::uint8_t second_low = 0x80;
  std::uint8_t second_high = 0xBF;
};

LeadByte classify(std::uint8_t lead) {
  if (lead < 0x80) return {1, 0, 0};
  if (lead < 0xC2) return {};
  if (lead < 0xE0) return {2, 0x80, 0xBF};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};
  if (lead < 0xF0) return {3, 0x80, 0xBF};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead < 0xF4) return {4, 0x80, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {};
}

int combining_class(char32_t code_point) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(code_point))->combining_class;
}

// Below this no character decomposes or combines with what stands before it.
constexpr char32_t kFirstDecomposable = 0xC0;

// Canonical decomposition with canonical order. utf8proc's own ordering is an insertion sort, which a long run of marks
// makes quadratic.
std::vector<utf8proc_int32_t> decompose(std::string_view valid_text) {
  std::vector<utf8proc_int32_t> out;
  out.reserve(valid_text.size());
  std::size_t run_begin = 0;  // combining marks since the last starter
  const auto sort_run = [&] {
    if (out.size() - run_begin > 1) {
      std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(run_begin), out.end(), [](auto a, auto b) {
        return combining_class(static_cast<char32_t>(a)) < combining_class(static_cast<char32_t>(b));
      });
    }
  };
  while (!valid_text.empty()) {
    const DecodedChar c = decode_one(valid_text);
    valid_text.remove_prefix(c.length);
    std::array<utf8proc_int32_t, 32> parts{};
    utf8proc_ssize_t count = 1;
    parts[0] = static_cast<utf8proc_int32_t>(c.code_point);
    if (c.code_point >= kFirstDecomposable) {
      int boundary = 0;
      count = utf8proc_decompose_char(parts[0], parts.data(), parts.size(), UTF8PROC_DECOMPOSE, &boundary);
      count = std::clamp<utf8proc_ssize_t>(count, 1, static_cast<utf8proc_ssize_t>(parts.size()));
    }
    for (utf8proc_ssize_t i = 0; i < count; ++i) {
      const auto part = parts[static_cast<std::size_t>(i)];
      if (combining_class(static_cast<char32_t>(part)) == 0) {
        sort_run();
        out.push_back(part);
        run_begin = out.size();
      } else {
        out.push_back(part);
      }
    }
  }
  sort_run();
  return out;
}

void append_code_points(std::string& out, const std::vector<utf8proc_int32_t>& code_points) {
  for (const auto code_point : code_points) append_utf8(out, static_cast<char32_t>(code_point));
}

// Characters below U+0300 are in form C and never change by what follows, unless that is a mark.
bool is_surely_nfc(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<std::uint8_t>(c) < 0xCC; });
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<std::uint8_t>(c) < 0x80; });
}

template <typename Transform>
std::string over_valid_runs(std::string_view text, Transform transform) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t valid = valid_prefix_length(text);
    if (valid > 0) transform(text.substr(0, valid), out);
    text.remove_prefix(valid);
    if (!text.empty()) {
      const std::size_t invalid = decode_one(text).length;
      out.append(text.substr(0, invalid));
      text.remove_prefix(invalid);
    }
  }
  return out;
}

}  // namespace

DecodedChar decode_one(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const LeadByte lead = classify(byte(0));
  if (lead.length == 1) return {byte(0), 1, true};
  if (lead.length == 0) return {kReplacement, 1, false};
  if (text.size() < 2 || byte(1) < lead.second_low || byte(1) > lead.second_high) return {kReplacement, 1, false};
  char32_t code_point = byte(0) & (0x7FU >> lead.length);
  code_point = (code_point << 6) | (byte(1) & 0x3FU);
  for (std::size_t i = 2; i < lead.length; ++i) {
    if (i >= text.size() || (byte(i) & 0xC0) != 0x80) return {kReplacement, i, false};
    code_point = (code_point << 6) | (byte(i) & 0x3FU);
  }
  return {code_point, lead.length, true};
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto put = [&](char32_t value) { out.push_back(static_cast<char>(value)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3F));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

std::size_t valid_prefix_length(std::string_view text) {
  std::size_t position = 0;
  while (position < text.size()) {
    if (static_cast<std::uint8_t>(text[position]) < 0x80) {
      ++position;
      continue;
    }
    const DecodedChar c = decode_one(text.substr(position));
    if (!c.valid) break;
    position += c.length;
  }
  return position;
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_other(char32_t code_point) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
      return true;
    default:
      return false;
  }
}

bool is_nonspacing_mark(char32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point)) == UTF8PROC_CATEGORY_MN;
}

bool is_punctuation(char32_t code_point) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code_point))) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return true;
    default:
      return false;
  }
}

char32_t to_lower(char32_t code_point) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code_point)));
}

std::string to_nfc(std::string_view text) {
  if (is_surely_nfc(text)) return std::string(text);
  return over_valid_runs(text, [](std::string_view run, std::string& out) {
    auto code_points = decompose(run);
    const auto composed =
        utf8proc_normalize_utf32(code_points.data(), static_cast<utf8proc_ssize_t>(code_points.size()),
                                 static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    if (composed >= 0) code_points.resize(static_cast<std::size_t>(composed));
    append_code_points(out, code_points);
  });
}

std::string to_nfd(std::string_view text) {
  if (is_ascii(text)) return std::string(text);
  return over_valid_runs(text, [](std::string_view run, std::string& out) { append_code_points(out, decompose(run)); });
}

}  // namespace takt::unicode
