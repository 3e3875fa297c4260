#include "measure/percentile.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace takt::measure {
namespace {

TEST(Percentile, InterpolatesLinearlyBetweenOrderStatistics) {
  const std::vector<double> sorted{1.0, 2.0, 4.0, 8.0, 16.0};
  EXPECT_DOUBLE_EQ(*percentile(sorted, 0.0), 1.0);
  EXPECT_DOUBLE_EQ(*percentile(sorted, 0.5), 4.0);
  EXPECT_DOUBLE_EQ(*percentile(sorted, 0.625), 6.0);
  EXPECT_DOUBLE_EQ(*percentile(sorted, 1.0), 16.0);
}

TEST(Percentile, OneSampleIsEveryPercentile) {
  const std::vector<double> one{3.0};
  EXPECT_DOUBLE_EQ(*percentile(one, 0.0), 3.0);
  EXPECT_DOUBLE_EQ(*percentile(one, 0.99), 3.0);
}

TEST(Percentile, IsEmptyForNoSamplesAndForAShareThatIsNone) {
  const std::vector<double> one{3.0};
  EXPECT_FALSE(percentile({}, 0.5));
  EXPECT_FALSE(percentile(one, -0.1));
  EXPECT_FALSE(percentile(one, 1.1));
}

TEST(Percentile, IsReportedOnlyWhereTenSamplesLieBeyondIt) {
  EXPECT_FALSE(percentile_is_reportable(19, 0.5));
  EXPECT_TRUE(percentile_is_reportable(20, 0.5));
  EXPECT_FALSE(percentile_is_reportable(999, 0.99));
  EXPECT_TRUE(percentile_is_reportable(1000, 0.99));
  EXPECT_FALSE(percentile_is_reportable(1000000, 1.0));

  std::vector<double> sorted(1000);
  std::iota(sorted.begin(), sorted.end(), 0.0);
  EXPECT_NEAR(*reported_percentile(sorted, 0.99), 989.01, 1e-9);
  sorted.pop_back();
  EXPECT_FALSE(reported_percentile(sorted, 0.99));
}

}  // namespace
}  // namespace takt::measure
