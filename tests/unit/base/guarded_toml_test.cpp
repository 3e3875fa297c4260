#include "base/guarded_toml.h"

#include <gtest/gtest.h>

namespace takt {
namespace {

std::string message_of(const std::string& text) {
  const auto document = parse_guarded_toml(text, "a.toml", "some.field");
  if (document) return {};
  EXPECT_EQ(document.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(document.error().field, "some.field");
  return document.error().message;
}

std::string key_of(std::size_t parts) {
  std::string key = "a";
  for (std::size_t i = 1; i < parts; ++i) key += ".a";
  return key;
}

TEST(GuardedToml, GivesTheDocument) {
  const auto document = parse_guarded_toml("[a]\nb = 3\n", "a.toml", "");
  ASSERT_TRUE(document) << document.error().message;
  EXPECT_EQ((*document)["a"]["b"].value<int>(), 3);
  EXPECT_TRUE(parse_guarded_toml("", "a.toml", ""));
}

TEST(GuardedToml, WhatIsNoTomlIsNamedWithItsLine) {
  EXPECT_EQ(message_of("a = 1\nb = = 2\n").substr(0, 10), "a.toml:2: ");
  EXPECT_EQ(message_of("a = 1\na = 2\n").substr(0, 10), "a.toml:2: ");
  EXPECT_NE(message_of("\xff\xfe"), "");
}

// The library recurses into each part of a key: 50,000 of them ended the process.
TEST(GuardedToml, KeysOfVeryManyPartsAreRefused) {
  const std::string refused = "a.toml:2: more than 64 dots in a line";
  EXPECT_EQ(message_of("\n" + key_of(50'000) + " = 1\n"), refused);
  EXPECT_EQ(message_of("\n[" + key_of(50'000) + "]\n"), refused);
  EXPECT_EQ(message_of("\n[[" + key_of(66) + "]]\n"), refused);
  EXPECT_EQ(message_of("\nx = [{" + key_of(50'000) + " = 1}]\n"), refused);
  EXPECT_EQ(message_of("\n" + key_of(65) + " = 1\n"), "");
  EXPECT_EQ(message_of("  # " + std::string(100, '.') + "\n"), "");
}

TEST(GuardedToml, ValuesInsideOneAnotherHaveABoundToo) {
  EXPECT_NE(message_of("a = " + std::string(10'000, '[')), "");
  EXPECT_NE(message_of("a = " + std::string(10'000, '[') + std::string(10'000, ']')), "");
  std::string nested;
  for (int i = 0; i < 300; ++i) nested += "x = [{" + key_of(60) + " = [\n{";
  EXPECT_NE(message_of(nested), "");
}

}  // namespace
}  // namespace takt
