#include "measure/capacity.h"

#include <gtest/gtest.h>

#include <cmath>

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

constexpr bool kSaturated = true;
constexpr bool kValid = true;

TEST(CapacitySearch, ARateAtWhichTheServerFallsBehindIsNotCarried) {
  CapacitySearch search({.first_rate = 4.0, .most_tries = 3});
  search.note({4.0, 1.0, {1.0, 1.0}, 4.0, kSaturated, kValid});
  EXPECT_DOUBLE_EQ(*search.next_rate(), 2.0);
  EXPECT_TRUE(search.is_bounded());
  EXPECT_FALSE(search.capacity());
}

TEST(CapacitySearch, ARunThatIsNotValidBoundsNothingWhateverItsFiguresAre) {
  for (const double attainment : {0.0, 1.0}) {
    for (const bool saturated : {false, true}) {
      CapacitySearch search({.first_rate = 4.0, .most_tries = 9});
      search.note({4.0, 1.0, {1.0, 1.0}, 4.0, !kSaturated, kValid});
      search.note({8.0, attainment, {attainment, attainment}, 0.0, saturated, !kValid});
      EXPECT_DOUBLE_EQ(*search.next_rate(), 8.0) << "once more";
      EXPECT_FALSE(search.is_bounded());
      EXPECT_DOUBLE_EQ(*search.capacity(), 4.0);
      EXPECT_DOUBLE_EQ(search.interval().high, 4.0);
      search.note({8.0, 0.5, {0.4, 0.6}, 4.0, !kSaturated, kValid});
      EXPECT_DOUBLE_EQ(*search.next_rate(), std::sqrt(32.0)) << "the search goes on from the run that was valid";
      EXPECT_FALSE(search.stopped_at());
    }
  }
}

TEST(CapacitySearch, EndsAtARateWhereTwoRunsAreNotValidAndSaysWhere) {
  CapacitySearch search({.first_rate = 4.0, .most_tries = 9});
  search.note({4.0, 0.95, {0.9, 1.0}, 4.0, !kSaturated, kValid});
  search.note({8.0, 0.0, {0.0, 0.0}, 0.0, !kSaturated, !kValid});
  search.note({8.0, 0.0, {0.0, 0.0}, 0.0, !kSaturated, !kValid});
  EXPECT_FALSE(search.next_rate());
  EXPECT_EQ(search.stopped_at(), 8.0);
  EXPECT_DOUBLE_EQ(*search.capacity(), 4.0);
  EXPECT_FALSE(search.is_bounded());

  CapacitySearch first({.first_rate = 4.0, .most_tries = 9});
  for (int i = 0; i < 2; ++i) first.note({4.0, 1.0, {1.0, 1.0}, 4.0, !kSaturated, !kValid});
  EXPECT_FALSE(first.next_rate());
  EXPECT_FALSE(first.capacity());

  CapacitySearch last({.first_rate = 4.0, .most_tries = 1});
  last.note({4.0, 1.0, {1.0, 1.0}, 4.0, !kSaturated, !kValid});
  EXPECT_FALSE(last.next_rate()) << "no more tries than were asked for";
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
