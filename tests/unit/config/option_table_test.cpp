#include "config/option_table.h"

#include <gtest/gtest.h>

#include <limits>

namespace takt::config {
namespace {

using std::chrono::milliseconds;

TEST(OptionTable, SetsABoundFieldAndRemembersWhereTheValueCameFrom) {
  OptionTable table;
  std::uint16_t port = 8080;
  table.add_integer("http.port", port, 0, 65535);
  EXPECT_EQ(table.find("http.port")->origin, "default");
  ASSERT_TRUE(table.set("http.port", Value(std::int64_t{81}), "flag"));
  EXPECT_EQ(port, 81);
  EXPECT_EQ(table.find("http.port")->origin, "flag");
}

// F1: each number has a type and a range, and a wrong one leaves the field alone.
TEST(OptionTable, RefusesNumbersOutsideTheirRange) {
  OptionTable table;
  std::uint16_t port = 8080;
  table.add_integer("http.port", port, 0, 65535);
  for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{65536}, std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::min()}) {
    const auto status = table.set("http.port", Value(wrong), "flag");
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().field, "http.port");
    EXPECT_NE(status.error().message.find("0 to 65535"), std::string::npos) << status.error().message;
  }
  EXPECT_EQ(port, 8080);
}

TEST(OptionTable, RefusesNumbersThatAreNone) {
  OptionTable table;
  double share = 0.5;
  table.add_real("sched.share", share, 0.1, 0.9);
  EXPECT_FALSE(table.set("sched.share", Value(std::numeric_limits<double>::quiet_NaN()), "flag"));
  EXPECT_FALSE(table.set("sched.share", Value(std::numeric_limits<double>::infinity()), "flag"));
  for (const char* text : {"", "x", "0.5x", " 0.5", "1e400", "0x1p-1"})
    EXPECT_FALSE(table.set_text("sched.share", text, "flag")) << text;
  EXPECT_EQ(share, 0.5);
  EXPECT_TRUE(table.set_text("sched.share", "0.25", "flag"));
  EXPECT_EQ(share, 0.25);
}

TEST(OptionTable, RefusesWrongTypes) {
  OptionTable table;
  bool flag = false;
  std::string word = "a";
  std::vector<std::string> words;
  table.add_switch("a.flag", flag);
  table.add_choice("a.word", word, {"a", "b"});
  table.add_texts("a.words", words);
  EXPECT_FALSE(table.set("a.flag", Value(std::int64_t{1}), "flag"));
  EXPECT_FALSE(table.set("a.word", Value(std::string("c")), "flag"));
  EXPECT_FALSE(table.set("a.words", Value(std::string("c")), "flag"));
  EXPECT_TRUE(table.set_text("a.flag", "true", "flag"));
  EXPECT_TRUE(table.set_text("a.word", "b", "flag"));
  EXPECT_TRUE(table.set_text("a.words", "b", "flag"));
  EXPECT_TRUE(flag);
  EXPECT_EQ(word, "b");
  EXPECT_EQ(words, std::vector<std::string>{"b"});
}

TEST(OptionTable, NamesTheClosestOptionForAMisspelledOne) {
  OptionTable table;
  Duration target = milliseconds(50);
  table.add_duration("scheduler.step_target_ms", target, milliseconds(1), 1, 1000);
  const auto status = table.set("scheduler.step_taget_ms", Value(std::int64_t{20}), "flag");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "unknown option; the closest is scheduler.step_target_ms");
  EXPECT_EQ(table.set("weather", Value(true), "flag").error().message, "unknown option");
  for (const char* near : {"step_target_ms", "http.step_target_ms", "engine.step_target_ms", "sched.step_target"})
    EXPECT_EQ(table.set(near, Value(true), "flag").error().message,
              "unknown option; the closest is scheduler.step_target_ms")
        << near;
  EXPECT_EQ(table.set(std::string(100'000, 'x'), Value(true), "flag").error().field.size(), 100U);
}

TEST(OptionTable, DurationsAreWrittenInTheirUnit) {
  OptionTable table;
  Duration target = milliseconds(50);
  std::chrono::milliseconds idle(75000);
  table.add_duration("a.target_ms", target, milliseconds(1), 1, 1000);
  table.add_duration("a.idle_seconds", idle, std::chrono::seconds(1), 1, 1000);
  EXPECT_EQ(to_toml(table.find("a.target_ms")->get()), "50");
  EXPECT_EQ(to_toml(table.find("a.idle_seconds")->get()), "75");
  ASSERT_TRUE(table.set("a.target_ms", Value(std::int64_t{20}), "flag"));
  EXPECT_EQ(target, milliseconds(20));
}

TEST(OptionTable, ASecretIsNotRepeatedInItsError) {
  OptionTable table;
  std::vector<std::string> keys;
  table.add_secrets("auth.api_keys", keys);
  const auto status = table.set("auth.api_keys", Value(std::string("sk-canary")), "flag");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message.find("canary"), std::string::npos);
}

}  // namespace
}  // namespace takt::config
