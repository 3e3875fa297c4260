#include "idle_speed.h"

#include <gtest/gtest.h>

namespace takt::app {
namespace {

using std::chrono::milliseconds;

TEST(IdleSpeed, FollowsFromTheTermsOfTheStepTimeModel) {
  StepTimeTerms terms;
  terms.per_step = 0.010;
  terms.per_token = 0.001;
  const IdleSpeed speed = idle_speed(terms, milliseconds(200));
  EXPECT_NEAR(to_seconds(speed.decode_step), 0.011, 1e-9);
  EXPECT_NEAR(to_seconds(speed.prompt), 1.010 + 5 * 0.010, 1e-9) << "six steps of at most 200 ms";
}

TEST(IdleSpeed, NamesTheTargetsThatCannotBeMet) {
  const ServiceTargets targets;  // 1 s, 100 ms
  EXPECT_TRUE(missed_when_idle({milliseconds(20), milliseconds(900)}, targets, milliseconds(50)).empty());
  EXPECT_EQ(missed_when_idle({milliseconds(70), milliseconds(900)}, targets, milliseconds(50)).size(), 1u);
  const auto missed = missed_when_idle({milliseconds(120), milliseconds(4000)}, targets, milliseconds(50));
  ASSERT_EQ(missed.size(), 2u) << "what is slow is said once";
  EXPECT_EQ(
      missed[0],
      "a token of a single stream takes 120 ms, its target between tokens is 100 ms and the step target is 50 ms");
  EXPECT_EQ(missed[1], "a prompt of 1000 tokens takes 4000 ms to its first token, the target is 1000 ms");
}

}  // namespace
}  // namespace takt::app
