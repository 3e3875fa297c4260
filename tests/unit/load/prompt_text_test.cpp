#include "load/prompt_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace takt::load {
namespace {

// Words are a token each.
Result<std::uint32_t> count_words(std::string_view text) {
  return static_cast<std::uint32_t>(1 + std::count(text.begin(), text.end(), ' '));
}
// Every byte is one.
Result<std::uint32_t> count_bytes(std::string_view text) {
  return static_cast<std::uint32_t>(text.size());
}
// Long words are two tokens.
Result<std::uint32_t> count_halves(std::string_view text) {
  std::uint32_t tokens = 0;
  std::size_t length = 0;
  for (const char c : std::string(text) + " ") {
    if (c == ' ') {
      tokens += length > 5 ? 2 : 1;
      length = 0;
    } else {
      ++length;
    }
  }
  return tokens;
}

TEST(PromptText, HasExactlyAsManyTokensAsAskedForByAnyAdditiveTokenizer) {
  for (const CountTokens& count : {CountTokens(count_words), CountTokens(count_bytes), CountTokens(count_halves)}) {
    const auto palette = find_palette(count, "a test");
    ASSERT_TRUE(palette);
    EXPECT_TRUE(palette->exact);
    EXPECT_GE(palette->pieces.size(), 24U);
    const PromptWriter writer(*palette);
    for (const std::uint32_t tokens : {1U, 2U, 17U, 512U, 4000U})
      EXPECT_EQ(*count("and" + writer.write(tokens, tokens)) - *count("and"), tokens);
  }
}

TEST(PromptText, ATokenizerWithoutSingleTokensIsSaidToBeAnEstimate) {
  const auto palette = find_palette(
      [](std::string_view text) -> Result<std::uint32_t> { return static_cast<std::uint32_t>(2 * text.size()); },
      "a test");
  ASSERT_TRUE(palette);
  EXPECT_FALSE(palette->exact);
  EXPECT_GT(palette->tokens_per_piece, 2.0);
}

// Mooncake's pitfall: equal hashes are equal text, and nothing else is shared.
TEST(PromptText, EqualBlocksAreEqualTextAndOthersAreNot) {
  const PromptWriter writer(*find_palette(count_words, "a test"));
  PlannedRequest first;
  first.prompt_tokens = 1100;
  first.block_tokens = 512;
  first.hashes = {11, 12, 13};
  PlannedRequest second = first;
  second.hashes = {11, 12, 99};
  second.text_seed = 5;
  const std::string a = writer.write(first, 0);
  const std::string b = writer.write(second, 0);
  const auto differ = static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
  const std::string shared = a.substr(0, differ);
  EXPECT_NEAR(static_cast<double>(*count_words(shared)), 1024.0, 3.0);
  EXPECT_EQ(*count_words(a), 1101U);
}

// What one run sent is no help to the next one.
TEST(PromptText, AnotherSaltMakesOtherTextsOfTheSameLengthAndStructure) {
  const Palette palette = *find_palette(count_words, "a test");
  PlannedRequest request;
  request.prompt_tokens = 100;
  request.block_tokens = 16;
  request.hashes = {11, 12};
  const std::string first = PromptWriter(palette, 1).write(request, 0);
  const std::string second = PromptWriter(palette, 2).write(request, 0);
  EXPECT_NE(first.substr(0, 40), second.substr(0, 40));
  EXPECT_EQ(*count_words(first), *count_words(second));
  EXPECT_EQ(first, PromptWriter(palette, 1).write(request, 0));
}

TEST(PromptText, PromptsWithoutHashesShareNothing) {
  const PromptWriter writer(*find_palette(count_words, "a test"));
  std::set<std::string> beginnings;
  for (std::uint64_t i = 0; i < 200; ++i) {
    PlannedRequest request;
    request.prompt_tokens = 40;
    request.text_seed = i * 0x9E3779B97F4A7C15U;
    beginnings.insert(writer.write(request, 0).substr(0, 40));
  }
  EXPECT_EQ(beginnings.size(), 200U);
}

TEST(PromptText, WhatTheServerAddsIsTakenOff) {
  const PromptWriter writer(*find_palette(count_words, "a test"));
  PlannedRequest request;
  request.prompt_tokens = 100;
  EXPECT_EQ(*count_words(writer.write(request, 30)), 71U);
  EXPECT_EQ(*count_words(writer.write(request, 400)), 2U);  // one token: the least there is
}

}  // namespace
}  // namespace takt::load
