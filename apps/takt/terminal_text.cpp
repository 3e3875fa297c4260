#include "terminal_text.h"

#include <algorithm>
#include <cstdio>

namespace takt::app {
namespace {

// The sign for a control character below 0x20, or DEL: Unicode's control pictures, U+2400 and on.
void append_picture(std::string& out, unsigned char control) {
  constexpr unsigned char kDelete = 0x7F;
  constexpr int kPictureOfDelete = 0x21;
  out += "\xE2\x90";
  out += static_cast<char>(0x80 + (control == kDelete ? kPictureOfDelete : control));
}

// C1 has no pictures.
void append_number(std::string& out, unsigned char control) {
  char text[16];
  std::snprintf(text, sizeof(text), "<U+%04X>", control);
  out += text;
}

bool is_c1(std::string_view utf8, std::size_t at) {
  if (utf8[at] != '\xC2' || at + 1 == utf8.size()) return false;
  const auto second = static_cast<unsigned char>(utf8[at + 1]);
  return second >= 0x80 && second <= 0x9F;
}

std::string without_controls(std::string_view utf8) {
  std::string out;
  out.reserve(utf8.size());
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto c = static_cast<unsigned char>(utf8[i]);
    if (c == '\r') continue;
    if (is_c1(utf8, i)) {
      append_number(out, static_cast<unsigned char>(utf8[++i]));
    } else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F) {
      append_picture(out, c);
    } else {
      out += utf8[i];
    }
  }
  return out;
}

}  // namespace

std::string TerminalText::push(std::string_view bytes) {
  return without_controls(utf8_.push(bytes));
}

std::string TerminalText::finish() {
  return utf8_.finish();
}

std::string terminal_line(std::string_view bytes) {
  TerminalText text;
  std::string line = text.push(bytes);
  line += text.finish();
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return line;
}

}  // namespace takt::app
