#include "measure/capacity.h"

#include <gtest/gtest.h>

namespace takt::measure {
namespace {

// A server that carries rates up to `limit`.
CapacitySearch search_on(double limit, CapacityOptions options) {
  CapacitySearch search(options);
  while (const auto rate = search.next_rate()) {
    const double attainment = *rate <= limit ? 0.97 : 0.6;
    search.note({*rate, attainment, {attainment - 0.02, attainment + 0.02}, *rate * attainment, false, true});
  }
  return search;
}

TEST(CapacitySearch, FindsTheHighestRateThatIsCarriedFromAbove) {
  const auto search = search_on(7.3, {.first_rate = 100.0, .grain = 0.05, .most_tries = 30});
  ASSERT_TRUE(search.capacity());
  EXPECT_LE(*search.capacity(), 7.3);
  EXPECT_GE(*search.capacity(), 7.3 / 1.05);
}

TEST(CapacitySearch, AndFromBelow) {
  const auto search = search_on(7.3, {.first_rate = 0.25, .grain = 0.05, .most_tries = 30});
  EXPECT_LE(*search.capacity(), 7.3);
  EXPECT_GE(*search.capacity(), 7.3 / 1.05);
  EXPECT_EQ(search.interval().low, *search.capacity());
}

TEST(CapacitySearch, EndsAfterItsTriesAndSaysWhenNothingIsCarried) {
  const auto search = search_on(0.0, {.first_rate = 1.0, .most_tries = 4});
  EXPECT_EQ(search.trials().size(), 4U);
  EXPECT_FALSE(search.capacity());
}

TEST(CapacitySearch, KnowsALowerBoundWhenEveryRateWasCarried) {
  const auto search = search_on(1000.0, {.first_rate = 1.0, .most_tries = 3});
  EXPECT_DOUBLE_EQ(*search.capacity(), 4.0);
  EXPECT_FALSE(search.is_bounded());
  EXPECT_TRUE(search_on(3.0, {.first_rate = 1.0, .most_tries = 5}).is_bounded());
}

TEST(CapacitySearch, ARateAtWhichTheGeneratorOrTheServerFallsBehindIsNotCarried) {
  CapacitySearch search({.first_rate = 4.0, .most_tries = 3});
  search.note({4.0, 1.0, {1.0, 1.0}, 4.0, true, true});
  EXPECT_DOUBLE_EQ(*search.next_rate(), 2.0);
  search.note({2.0, 1.0, {1.0, 1.0}, 2.0, false, false});
  EXPECT_DOUBLE_EQ(*search.next_rate(), 1.0);
  EXPECT_FALSE(search.capacity());
}

TEST(CapacitySearch, AnAttainmentThatIsNotSureWidensTheInterval) {
  CapacitySearch search({.attainment = 0.9, .first_rate = 1.0, .most_tries = 3});
  search.note({1.0, 0.98, {0.95, 1.0}, 1.0, false, true});
  search.note({2.0, 0.91, {0.85, 0.95}, 1.8, false, true});
  search.note({4.0, 0.88, {0.82, 0.92}, 3.5, false, true});
  EXPECT_DOUBLE_EQ(*search.capacity(), 2.0);
  EXPECT_DOUBLE_EQ(search.interval().low, 1.0);
  EXPECT_DOUBLE_EQ(search.interval().high, 4.0);
}

}  // namespace
}  // namespace takt::measure
