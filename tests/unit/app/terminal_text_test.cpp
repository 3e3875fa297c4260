#include "terminal_text.h"

#include <gtest/gtest.h>

namespace takt::app {
namespace {

std::string shown(std::string_view bytes) {
  TerminalText text;
  return text.push(bytes) + text.finish();
}

TEST(TerminalText, LeavesTextAsItIs) {
  const std::string text = "Tab\there, line\nthere; caf\u00e9, \u4f60\u597d, \U0001F600, \u00a0no break";
  EXPECT_EQ(shown(text), text);
}

TEST(TerminalText, ShowsControlCharactersInsteadOfSendingThem) {
  EXPECT_EQ(shown("\x1b[2J"), "\u241b[2J");
  EXPECT_EQ(shown("\x1b]0;title\x07"), "\u241b]0;title\u2407");
  EXPECT_EQ(shown(std::string_view("\0\x7f", 2)), "\u2400\u2421");
  EXPECT_EQ(shown("\u009b31m\u0080\u009f"), "<U+009B>31m<U+0080><U+009F>");
  EXPECT_EQ(shown("over\rwritten\r\n"), "overwritten\n");
}

TEST(TerminalText, NoControlCharacterGetsThroughHoweverTheBytesAreCut) {
  std::string all;
  for (int c = 0; c < 0x100; ++c) all += static_cast<char>(c);
  for (int c = 0x80; c < 0xA0; ++c) all += "\xC2" + std::string(1, static_cast<char>(c));
  for (std::size_t size = 1; size < 8; ++size) {
    TerminalText text;
    std::string out;
    for (std::size_t at = 0; at < all.size(); at += size) out += text.push(std::string_view(all).substr(at, size));
    out += text.finish();
    EXPECT_EQ(out, shown(all));
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto c = static_cast<unsigned char>(out[i]);
      EXPECT_TRUE(c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7F)) << int{c};
      const bool c1 = c == 0xC2 && i + 1 < out.size() && static_cast<unsigned char>(out[i + 1]) < 0xA0;
      EXPECT_FALSE(c1);
    }
  }
}

TEST(TerminalText, ALineStaysOneLine) {
  EXPECT_EQ(terminal_line("one\ntwo\tthree\r\n\xff"), "one two three \uFFFD");
}

}  // namespace
}  // namespace takt::app
