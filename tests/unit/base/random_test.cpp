#include "base/random.h"

#include <gtest/gtest.h>

#include <set>

namespace takt {
namespace {

// Known-answer vectors published with the algorithm (Random123, philox4x32-10).
TEST(Philox, MatchesThePublishedVectors) {
  EXPECT_EQ(philox4x32(0, 0), (std::array<std::uint32_t, 4>{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
}

TEST(Philox, DrawsDependOnKeyAndCounterOnly) {
  EXPECT_EQ(uniform01(7, 42), uniform01(7, 42));
  std::set<double> seen;
  for (std::uint64_t key = 0; key < 50; ++key) {
    for (std::uint64_t counter = 0; counter < 50; ++counter) {
      const double u = uniform01(key, counter);
      EXPECT_GE(u, 0.0);
      EXPECT_LT(u, 1.0);
      seen.insert(u);
    }
  }
  EXPECT_EQ(seen.size(), 2500u);
}

TEST(Philox, MeanIsAboutOneHalf) {
  double sum = 0.0;
  for (std::uint64_t i = 0; i < 20000; ++i) sum += uniform01(123, i);
  EXPECT_NEAR(sum / 20000, 0.5, 0.01);
}

}  // namespace
}  // namespace takt
