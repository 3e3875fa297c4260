#include "serve/choice_text.h"

#include <gtest/gtest.h>

#include "unit/serve/byte_tokenizer.h"

namespace takt::serve {
namespace {

using test::byte_token;
using test::ByteTokenizer;

const ByteTokenizer kTokenizer;

// What goes out after each byte, joined by '|'.
std::string released(ChoiceText& choice, std::string_view text) {
  std::string out;
  for (const char c : text) {
    choice.add(byte_token(c));
    out += choice.take_text() + "|";
  }
  choice.finish();
  return out + choice.take_text();
}

std::string bytes_of(const std::vector<api::ScoredToken>& tokens) {
  std::string bytes;
  for (const api::ScoredToken& token : tokens) bytes += token.bytes;
  return bytes;
}

// C7
TEST(ChoiceText, NoByteOfAStopStringGoesOut) {
  ChoiceText choice(kTokenizer, {"STOP"}, false);
  EXPECT_EQ(released(choice, "abSTOPcd"), "a|b|||||||");
  EXPECT_EQ(choice.tokens(), 6u);
}

// C8
TEST(ChoiceText, OnlyTheBeginningOfAStopStringIsHeldBack) {
  ChoiceText choice(kTokenizer, {"STOP"}, false);
  EXPECT_EQ(released(choice, "aSTxSTO"), "a|||STx||||STO");
}

// C10, C12
TEST(ChoiceText, CharactersStayWhole) {
  ChoiceText choice(kTokenizer, {}, false);
  EXPECT_EQ(released(choice, "a\xE2\x82\xACz"), "a|||\xE2\x82\xAC|z|");
  ChoiceText broken(kTokenizer, {}, false);
  EXPECT_EQ(released(broken, "\x9F"), "\xEF\xBF\xBD|");
  ChoiceText cut(kTokenizer, {}, false);
  EXPECT_EQ(released(cut, "a\xE2\x82"), "a|||\xEF\xBF\xBD");
}

// C7 for logprobs: a token that holds a part of the stop string is not shown either.
TEST(ChoiceText, LogprobsGoOutWithTheirText) {
  ChoiceText choice(kTokenizer, {"xyz"}, true);
  choice.add(byte_token('a'));
  EXPECT_EQ(choice.take_text(), "a");
  EXPECT_EQ(bytes_of(choice.take_tokens()), "a");
  choice.add(byte_token('x'));
  choice.add(byte_token('y'));
  EXPECT_EQ(bytes_of(choice.take_tokens()), "");
  EXPECT_TRUE(choice.add(byte_token('z')));
  EXPECT_FALSE(choice.has_news());
}

TEST(ChoiceText, LogprobsOfABrokenPromiseFollowAtTheEnd) {
  ChoiceText choice(kTokenizer, {"xyz"}, true);
  choice.add(byte_token('x'));
  choice.add(byte_token('y'));
  EXPECT_FALSE(choice.finish());
  EXPECT_EQ(choice.take_text(), "xy");
  EXPECT_EQ(bytes_of(choice.take_tokens()), "xy");
}

TEST(ChoiceText, AnIncompleteCharactersTokensWaitForIt) {
  ChoiceText choice(kTokenizer, {}, true);
  choice.add(byte_token('\xE2'));
  choice.add(byte_token('\x82'));
  EXPECT_FALSE(choice.has_news());
  choice.add(byte_token('\xAC'));
  choice.add(byte_token('b'));
  const auto tokens = choice.take_tokens();
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_EQ(tokens[0].text_offset, 0u);
  EXPECT_EQ(tokens[2].text_offset, 0u);
  EXPECT_EQ(tokens[3].text_offset, 1u);
}

TEST(ChoiceText, ControlTokensHaveNoTextButALogprob) {
  ChoiceText choice(kTokenizer, {}, true);
  choice.add({test::kTurn, -1.0F, {{test::kTurn, -1.0F}}});
  EXPECT_EQ(choice.take_text(), "");
  const auto tokens = choice.take_tokens();
  ASSERT_EQ(tokens.size(), 1u);
  EXPECT_EQ(tokens[0].bytes, "<turn>");
  EXPECT_EQ(tokens[0].top[0].first, "<turn>");
}

TEST(ChoiceText, StopStringsAreNotLookedForInAnEcho) {
  ChoiceText choice(kTokenizer, {"b"}, false);
  choice.echo("abc", {});
  EXPECT_FALSE(choice.add(byte_token('c')));
  EXPECT_TRUE(choice.add(byte_token('b')));
  EXPECT_EQ(choice.take_text(), "abcc");
}

}  // namespace
}  // namespace takt::serve
