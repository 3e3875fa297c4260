#include "base/message_number.h"

#include <gtest/gtest.h>

#include <limits>

namespace takt {
namespace {

TEST(MessageNumber, BoundsReadAsTheyAreWrittenInTheDocumentation) {
  EXPECT_EQ(message_number(0.0), "0");
  EXPECT_EQ(message_number(2.0), "2");
  EXPECT_EQ(message_number(0.1), "0.1");
  EXPECT_EQ(message_number(-2.5), "-2.5");
  EXPECT_EQ(message_number(0.000001), "1e-06");
  EXPECT_EQ(message_number(1048576.0), "1048576");
  EXPECT_EQ(message_number(1e9), "1000000000");
}

TEST(MessageNumber, TenDigitsAreShownAndTheNoiseBehindThemIsNot) {
  EXPECT_EQ(message_number(0.1 + 0.2), "0.3");
  EXPECT_EQ(message_number(1.0 / 3.0), "0.3333333333");
  EXPECT_EQ(message_number(1e12), "1e+12");
}

TEST(MessageNumber, TheLargestAndWhatIsNoNumberFit) {
  EXPECT_EQ(message_number(-std::numeric_limits<double>::max()), "-1.797693135e+308");
  EXPECT_EQ(message_number(std::numeric_limits<double>::infinity()), "inf");
}

}  // namespace
}  // namespace takt
