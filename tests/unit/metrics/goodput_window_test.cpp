#include "metrics/goodput_window.h"

#include <gtest/gtest.h>

#include "metrics/accountant.h"
#include "unit/metrics/event_script.h"

namespace takt::metrics {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

measure::RequestRecord record_with(bool met) {
  measure::RequestRecord record;
  record.outcome = met ? measure::Outcome::kComplete : measure::Outcome::kShed;
  record.times.first_token = TimePoint{};
  record.times.end = TimePoint{};
  record.times.tokens = 10;
  return record;
}

TEST(GoodputWindow, CountsWhatEndedWithinTheWindowAndForgetsTheRest) {
  GoodputWindow window;
  window.count(TimePoint(seconds(5)), record_with(true));
  window.count(TimePoint(minutes(4)), record_with(false));
  const auto at = [&](Duration now, Duration length) { return window.over(TimePoint(now), length); };
  EXPECT_EQ(at(seconds(30), minutes(1)).met, 1U);
  EXPECT_EQ(at(minutes(4), minutes(1)).met, 0U);
  EXPECT_EQ(at(minutes(4), minutes(1)).offered, 1U);
  EXPECT_EQ(at(minutes(4), minutes(5)).offered, 2U);
  EXPECT_EQ(at(minutes(4), minutes(5)).met_tokens, 10U);
  EXPECT_EQ(at(minutes(60), minutes(60)).offered, 2U);
  EXPECT_EQ(at(minutes(70), minutes(60)).offered, 0U);
}

TEST(GoodputWindow, ASlotOfAnEarlierHourIsNotCountedAgain) {
  GoodputWindow window;
  for (int hour = 0; hour < 5; ++hour) {
    const TimePoint at(minutes(61 * hour));
    window.count(at, record_with(true));
    EXPECT_EQ(window.over(at, minutes(60)).met, 1U);
  }
}

TEST(Accountant, LiveGoodputIsPerSecondOfTheWindowOrOfTheServersAge) {
  Accountant accountant({"model"});
  accountant.apply(accepted(0, 1));
  accountant.apply(admitted(10, 1));
  accountant.apply(token(20, 1));
  accountant.apply(choice_finished(30, 1));
  accountant.apply(closed(30, 1));
  accountant.refuse(at_ms(100), labels("chat"), ErrorCode::kUnavailable);
  const auto young = accountant.snapshot(at_ms(20'000)).classes.at(0).recent[0];
  EXPECT_EQ(young.window, seconds(20));
  EXPECT_EQ(young.goodput.attainment(), 0.5);
  EXPECT_DOUBLE_EQ(young.goodput.requests_per_second(young.window), 0.05);
  const auto later = accountant.snapshot(at_ms(600'000)).classes.at(0);
  EXPECT_EQ(later.recent[0].window, minutes(1));
  EXPECT_EQ(later.recent[0].goodput.attainment(), std::nullopt);
  EXPECT_EQ(later.recent[2].goodput.attainment(), 0.5);
}

TEST(Accountant, TenantsAreCountedUpToABoundAndTheRestTogether) {
  Accountant accountant({"model"});
  const auto from = [](const std::string& tenant) {
    RequestLabels asked = labels("chat");
    asked.tenant = tenant;
    return asked;
  };
  accountant.apply(accepted(0, 1, 100, from("alice")));
  accountant.apply(admitted(10, 1, 64));
  accountant.apply(token(20, 1));
  accountant.refuse(at_ms(30), from("alice"), ErrorCode::kUnavailable);
  for (int i = 0; i < 100; ++i) accountant.refuse(at_ms(40), from("t" + std::to_string(i)), ErrorCode::kUnavailable);
  const auto counts = accountant.snapshot(at_ms(50));
  ASSERT_EQ(counts.tenants.size(), Accountant::kMaxTenants + 1);
  const TenantCounts& alice = counts.tenants.front();
  EXPECT_EQ(alice.tenant, "alice");
  EXPECT_EQ(alice.requests, 2U);
  EXPECT_EQ(alice.refused, 1U);
  EXPECT_EQ(alice.prompt_tokens, 100U);
  EXPECT_EQ(alice.cached_tokens, 64U);
  EXPECT_EQ(alice.generated_tokens, 1U);
  EXPECT_EQ(counts.tenants.back().tenant, "other");
  EXPECT_EQ(counts.tenants.back().requests, 100U - (Accountant::kMaxTenants - 1));
}

}  // namespace
}  // namespace takt::metrics
