#include "trace/number_text.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

namespace takt::trace {
namespace {

constexpr Duration kOneSecond = std::chrono::seconds(1);

TEST(NumberText, SecondsAreExactToTheNanosecond) {
  EXPECT_EQ(parse_decimal("0.207938", kOneSecond), Duration(207'938'000));
  EXPECT_EQ(parse_decimal("86400.123456789", kOneSecond), Duration(86'400'123'456'789));
  EXPECT_EQ(parse_decimal("7", kOneSecond), Duration(7'000'000'000));
  EXPECT_EQ(parse_decimal("-1.5", kOneSecond), Duration(-1'500'000'000));
  EXPECT_EQ(parse_decimal("2.5", std::chrono::milliseconds(1)), Duration(2'500'000));
}

TEST(NumberText, WhatIsNoPlainDecimalIsRefused) {
  for (const char* text : {"", "-", ".", "1.", ".5", "1e3", "nan", "inf", "1 ", " 1", "+1", "--1", "1.2.3", "0x10",
                           "99999999999999999999", "9999999999999"})
    EXPECT_FALSE(parse_decimal(text, kOneSecond)) << text;
  for (const char* text : {"", "-1", "4294967296", "1.0", "1 "}) EXPECT_FALSE(parse_count(text)) << text;
}

TEST(NumberText, AzuresInstantsOfBothYearsAreRead) {
  EXPECT_EQ(parse_wall("1970-01-01 00:00:01.5000000"), 1'500'000'000);
  EXPECT_EQ(parse_wall("2023-11-16 18:17:03.9799600"), 1'700'158'623'979'960'000);
  EXPECT_EQ(parse_wall("2024-05-10 00:00:00.009930+00:00"), 1'715'299'200'009'930'000);
  EXPECT_EQ(parse_wall("2024-05-10T02:00:00+02:00"), 1'715'299'200'000'000'000);
  EXPECT_EQ(parse_wall("2024-05-10 00:00:00Z"), 1'715'299'200'000'000'000);
}

TEST(NumberText, WhatIsNoInstantIsRefused) {
  for (const char* text :
       {"", "2023-11-16", "2023-02-30 00:00:00", "2023-13-01 00:00:00", "2023-11-16 24:00:00", "2023-11-16 00:61:00",
        "2023-11-16 00:00:00.", "2023-11-16 00:00:00 +", "1969-01-01 00:00:00", "2023-11-16 00:00:00.0000000001"})
    EXPECT_FALSE(parse_wall(text)) << text;
}

RC_GTEST_PROP(NumberText, WhatIsWrittenIsReadBack, (std::int64_t seed)) {
  const std::int64_t nanoseconds = seed % 5'000'000'000'000'000'000;
  RC_ASSERT(parse_decimal(decimal_seconds(Duration(nanoseconds), 3), kOneSecond) == Duration(nanoseconds));
  const std::int64_t wall = std::abs(nanoseconds) / 100 * 100;
  RC_ASSERT(parse_wall(wall_text(wall)) == wall);
}

}  // namespace
}  // namespace takt::trace
