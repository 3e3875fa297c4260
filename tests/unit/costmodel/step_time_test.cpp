#include <gtest/gtest.h>

#include <cmath>

#include "costmodel/fit.h"
#include "costmodel/linear_model.h"

namespace takt {
namespace {

StepFeatures features(std::uint32_t tokens, std::uint64_t attended) {
  return {.tokens = tokens, .attended_positions = attended};
}

std::vector<StepSample> samples_of(const StepTimeTerms& terms) {
  std::vector<StepSample> samples;
  for (const std::uint32_t n : {1U, 2U, 8U, 32U, 128U, 1U, 1U}) {
    const StepFeatures f = features(n, n * (samples.size() * 50 + 1));
    samples.push_back({f, from_seconds(terms.seconds(f))});
  }
  return samples;
}

TEST(StepTimeFit, FindsTheTermsThatMadeTheSamples) {
  const StepTimeTerms truth{0.004, 0.0005, 2e-7};
  const StepTimeTerms fit = fit_step_time(samples_of(truth));
  EXPECT_NEAR(fit.per_step, truth.per_step, truth.per_step * 0.01);
  EXPECT_NEAR(fit.per_token, truth.per_token, truth.per_token * 0.01);
  EXPECT_NEAR(fit.per_attended, truth.per_attended, truth.per_attended * 0.05);
}

TEST(StepTimeFit, NoTermIsEverBelowZero) {
  // Time falls with tokens: no line through these without a negative term.
  const std::vector<StepSample> samples = {{features(1, 1), from_seconds(0.010)},
                                           {features(10, 55), from_seconds(0.005)},
                                           {features(20, 210), from_seconds(0.002)}};
  const StepTimeTerms fit = fit_step_time(samples);
  EXPECT_GE(fit.per_step, 0.0);
  EXPECT_GE(fit.per_token, 0.0);
  EXPECT_GE(fit.per_attended, 0.0);
  EXPECT_GT(fit.per_step + fit.per_token + fit.per_attended, 0.0);
}

TEST(StepTimeFit, OneSampleOrNoneIsEnoughForFiniteTerms) {
  EXPECT_EQ(fit_step_time({}).per_step, 0.0);
  const std::vector<StepSample> one = {{features(1, 1), from_seconds(0.3)}};
  EXPECT_NEAR(fit_step_time(one).seconds(features(1, 1)), 0.3, 1e-9);
  const std::vector<StepSample> useless = {{features(1, 1), Duration::zero()}};
  EXPECT_EQ(fit_step_time(useless).seconds(features(5, 5)), 0.0);
}

TEST(LinearStepTimeModel, LearnsAMachineThatBecameSlower) {
  const StepTimeTerms before{0.004, 0.0005, 1e-7};
  const StepTimeTerms after{0.008, 0.001, 2e-7};
  LinearStepTimeModel model(before);
  for (int i = 0; i < 600; ++i) {
    const StepFeatures f =
        features(static_cast<std::uint32_t>(1 + i % 60), static_cast<std::uint64_t>(1 + i % 60) * 200);
    model.observe(f, from_seconds(after.seconds(f)));
  }
  const StepFeatures probe = features(20, 4000);
  EXPECT_NEAR(to_seconds(model.predict(probe)), after.seconds(probe), after.seconds(probe) * 0.1);
}

// A20: the time of copies is part of a prediction, is learnt, and is all that a step without rows takes.
TEST(LinearStepTimeModel, KnowsWhatSwappedBlocksCost) {
  LinearStepTimeModel model({10e-3, 1e-3, 0.0, 1e-3});
  StepFeatures step;
  step.swapped_blocks = 5;
  EXPECT_NEAR(to_seconds(model.predict(step)), 5e-3, 1e-6);
  step.tokens = 2;
  EXPECT_NEAR(to_seconds(model.predict(step)), 17e-3, 1e-6);
  StepFeatures plain;
  plain.tokens = 2;
  for (int i = 0; i < 2000; ++i) {
    model.observe(step, from_seconds(12e-3 + 5 * 4e-3));
    model.observe(plain, from_seconds(12e-3));
  }
  EXPECT_NEAR(to_seconds(model.predict(step)), 32e-3, 3e-3);
  EXPECT_NEAR(to_seconds(model.predict(plain)), 12e-3, 2e-3);
}

TEST(LinearStepTimeModel, OneOddStepMovesAPredictionByTwoPercentAtMost) {
  LinearStepTimeModel model({0.004, 0.0005, 1e-7});
  const StepFeatures probe = features(20, 4000);
  const double before = to_seconds(model.predict(probe));
  model.observe(probe, std::chrono::hours(1));
  EXPECT_LE(to_seconds(model.predict(probe)), before * 1.0201);
  model.observe(probe, Duration(1));
  model.observe(probe, Duration(-5));
  EXPECT_GE(to_seconds(model.predict(probe)), before * 0.97);
}

TEST(LinearStepTimeModel, IsFiniteAndGrowsWhateverItIsFed) {
  const double nan = std::nan("");
  LinearStepTimeModel model({nan, -1, 1e300});
  for (const std::uint32_t n : {1U, 1000U, 0xFFFFFFFFU}) {
    model.observe(features(n, ~0ULL), std::chrono::hours(10000));
    model.observe(features(n, 0), Duration(1));
    EXPECT_GT(model.predict(features(n, n)), Duration::zero());
    EXPECT_LE(to_seconds(model.predict(features(n, ~0ULL))), 1e6);
  }
  EXPECT_EQ(model.predict({}), Duration::zero());
  EXPECT_LE(model.predict(features(5, 5)), model.predict(features(6, 5)));
}

TEST(LinearStepTimeModel, KnowsHowWrongItWas) {
  LinearStepTimeModel model({0.010, 0, 0});
  EXPECT_EQ(model.error_quantile(0.5), Duration::zero());
  for (int i = 0; i < 100; ++i) model.observe(features(1, 1), from_seconds(i % 10 == 0 ? 0.020 : 0.010));
  EXPECT_LT(model.error_quantile(0.5), std::chrono::milliseconds(2));
  EXPECT_GT(model.error_quantile(0.95), std::chrono::milliseconds(8));
}

}  // namespace
}  // namespace takt
