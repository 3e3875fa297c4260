// Utf8Stream and StopMatcher, by example and by property over random bytes and cuts.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "text/detokenizer.h"
#include "text/stop_matcher.h"
#include "text/unicode.h"

namespace takt {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::string random_bytes(std::mt19937& random, std::size_t longest) {
  static const std::vector<std::string> parts{"a",        "\xC3\xA5", "\xE4\xBD\xA0", "\xF0\x9F\x98\x80",
                                              "\xF0\x9F", "\x80",     "\xFF",         "\xED\xA0",
                                              "\xE0\x80", "\xF4\x90", "\xC0\xAF",     "\xE2"};
  std::string bytes;
  const std::size_t count = random() % (longest + 1);
  for (std::size_t i = 0; i < count; ++i) bytes += parts[random() % parts.size()];
  return bytes;
}

// Cuts a text at random places, also inside characters, and gives the pieces.
std::vector<std::string> random_cuts(std::mt19937& random, std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const std::size_t length = 1 + random() % std::min<std::size_t>(text.size(), 4);
    pieces.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return pieces;
}

TEST(Utf8Stream, HoldsACharacterBackOnlyUntilItIsWhole) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("a\xF0\x9F"), "a");
  EXPECT_EQ(stream.push("\x98"), "");
  EXPECT_EQ(stream.push("\x80z"), "\xF0\x9F\x98\x80z");
  EXPECT_EQ(stream.finish(), "");
}

TEST(Utf8Stream, ReplacesWhatCanNeverBecomeACharacterAtOnce) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("\xFF"), kReplacement);
  EXPECT_EQ(stream.push("\xE2\x98"), "");
  EXPECT_EQ(stream.push("A"), std::string(kReplacement) + "A");
  EXPECT_EQ(stream.push("\xE2\x98"), "");
  EXPECT_EQ(stream.finish(), kReplacement);
  EXPECT_EQ(stream.finish(), "");
}

// C10, C12: any bytes in any pieces give the same valid text as the whole at once.
TEST(Utf8Stream, AnySplitOfAnyBytesGivesTheSameValidText) {
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    const std::string bytes = random_bytes(random, 12);
    Utf8Stream whole;
    std::string expected = whole.push(bytes);
    expected += whole.finish();
    Utf8Stream cut;
    std::string text;
    for (const std::string& piece : random_cuts(random, bytes)) {
      const std::string released = cut.push(piece);
      ASSERT_EQ(unicode::valid_prefix_length(released), released.size());
      text += released;
    }
    text += cut.finish();
    ASSERT_EQ(text, expected);
    ASSERT_EQ(unicode::valid_prefix_length(text), text.size());
  }
}

TEST(StopMatcher, ReleasesWhatIsNoBeginningOfAStopStringAtOnce) {
  StopMatcher matcher({"</tool_call_end_marker>"});
  EXPECT_EQ(matcher.push("plain text <"), "plain text ");
  EXPECT_EQ(matcher.push("b>"), "<b>");  // C8
  EXPECT_EQ(matcher.finish(), "");
}

// C7, C9: the match is found over the borders of what is pushed, and nothing of it is released.
TEST(StopMatcher, FindsAStopStringOverTokenBordersAndLeaksNothingOfIt) {
  StopMatcher matcher({"efghijk"});
  std::string sent;
  for (const char* piece : {"ab", "cde", "fg", "hi", "jkl", "mn"}) sent += matcher.push(piece);
  sent += matcher.finish();
  EXPECT_EQ(sent, "abcd");
  EXPECT_TRUE(matcher.matched());
  EXPECT_EQ(matcher.matched_stop(), "efghijk");
}

TEST(StopMatcher, TakesTheEarliestMatchAndOfTwoThereTheShorter) {
  StopMatcher earliest({"later", "ab"});
  EXPECT_EQ(earliest.push("xxablater"), "xx");
  EXPECT_EQ(earliest.matched_stop(), "ab");
  StopMatcher shorter({"abc", "ab"});
  EXPECT_EQ(shorter.push("xabc"), "x");
  EXPECT_EQ(shorter.matched_stop(), "ab");
}

TEST(StopMatcher, IgnoresEmptyStopStringsAndGivesTheHeldTailAtTheEnd) {
  StopMatcher matcher({"", "xyz"});
  EXPECT_EQ(matcher.push("wxy"), "w");
  EXPECT_EQ(matcher.finish(), "xy");
  EXPECT_FALSE(matcher.matched());
}

// Over a two-letter alphabet matches and near matches are frequent. What is held is always a proper prefix of a stop
// string (C8), and what was sent is the text up to the earliest match (C7).
TEST(StopMatcher, SendsTheTextUpToTheEarliestMatchWhateverTheCuts) {
  std::mt19937 random(11);
  const auto word = [&](std::size_t shortest, std::size_t longest) {
    std::string text;
    const std::size_t length = shortest + random() % (longest - shortest + 1);
    for (std::size_t i = 0; i < length; ++i) text.push_back(random() % 2 == 0 ? 'a' : 'b');
    return text;
  };
  for (int round = 0; round < 5000; ++round) {
    const std::vector<std::string> stops{word(2, 6), word(3, 7)};
    const std::string text = word(0, 40);
    StopMatcher matcher(stops);
    std::string sent;
    std::string given;
    for (const std::string& piece : random_cuts(random, text)) {
      given += piece;
      sent += matcher.push(piece);
      if (matcher.matched()) break;
      const std::string held = given.substr(sent.size());
      ASSERT_EQ(given.substr(0, sent.size()), sent);
      const bool proper = held.empty() || std::any_of(stops.begin(), stops.end(), [&](const std::string& stop) {
                            return held.size() < stop.size() && stop.compare(0, held.size(), held) == 0;
                          });
      ASSERT_TRUE(proper) << held;
    }
    if (!matcher.matched()) {
      ASSERT_EQ(sent + matcher.finish(), text);
      ASSERT_EQ(text.find(stops[0]), std::string::npos);
      ASSERT_EQ(text.find(stops[1]), std::string::npos);
    } else {
      ASSERT_EQ(given.compare(sent.size(), matcher.matched_stop().size(), matcher.matched_stop()), 0);
      // No stop string is complete before the one that matched.
      const std::string before = given.substr(0, sent.size() + matcher.matched_stop().size() - 1);
      for (const std::string& stop : stops) {
        const std::size_t at = before.find(stop);
        ASSERT_TRUE(at == std::string::npos || at >= sent.size());
      }
    }
  }
}

TEST(Unicode, FormCIsLinearInALongRunOfMarksInTheWrongOrder) {
  std::string text = "e";
  for (int i = 0; i < 200000; ++i) text += i % 2 == 0 ? "\xCC\x81" : "\xCC\xA3";
  EXPECT_EQ(unicode::to_nfc("e\xCC\x81"), "\xC3\xA9");
  EXPECT_EQ(unicode::to_nfc("\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB"), "\xED\x95\x9C");
  EXPECT_EQ(unicode::to_nfc("\xFF"
                            "e\xCC\x81"),
            "\xFF\xC3\xA9");
  EXPECT_FALSE(unicode::to_nfc(text).empty());
}

}  // namespace
}  // namespace takt
