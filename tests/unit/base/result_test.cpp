#include "base/result.h"

#include <gtest/gtest.h>

namespace takt {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return Error::invalid("n", "n must be even");
  return n / 2;
}

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_EQ(half(4).value(), 2);
  const auto odd = half(3);
  ASSERT_FALSE(odd.ok());
  EXPECT_EQ(odd.error().field, "n");
  EXPECT_STREQ(to_string(odd.error().code), "invalid_argument");
  EXPECT_TRUE(Status().ok());
}

}  // namespace
}  // namespace takt
