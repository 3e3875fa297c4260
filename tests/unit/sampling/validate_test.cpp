#include "sampling/validate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/sampling_limits.h"

namespace takt {
namespace {

std::string field_refused(const std::function<void(SamplingParams&)>& change) {
  SamplingParams params;
  change(params);
  const Status status = validate(params);
  return status.ok() ? "" : status.error().field;
}

TEST(ValidateSampling, DefaultsAndLimitsAreAccepted) {
  EXPECT_EQ(field_refused([](SamplingParams&) {}), "");
  EXPECT_EQ(field_refused([](SamplingParams& p) {
              p.temperature = 0.0F;
              p.top_p = 0.0F;
              p.min_p = 1.0F;
              p.presence_penalty = -2.0F;
              p.frequency_penalty = 2.0F;
              p.repetition_penalty = 10.0F;
              p.penalty_last_n = -1;
              p.top_logprobs = 20;
              p.logit_bias = {{0, -100.0F}, {1, 100.0F}};
            }),
            "");
}

// F3: absurd values name their field.
TEST(ValidateSampling, AbsurdValuesNameTheirField) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  struct Case {
    const char* field;
    float SamplingParams::*member;
    std::vector<float> values;
  };
  const std::vector<Case> cases{
      {"temperature", &SamplingParams::temperature, {-1.0F, 1e6F, nan, infinity}},
      {"top_p", &SamplingParams::top_p, {-1.0F, 1.5F, nan, -infinity}},
      {"min_p", &SamplingParams::min_p, {-0.1F, 2.0F, nan}},
      {"typical_p", &SamplingParams::typical_p, {0.0F, 1.1F, nan}},
      {"repetition_penalty", &SamplingParams::repetition_penalty, {0.0F, -1.0F, 1e9F, nan}},
      {"presence_penalty", &SamplingParams::presence_penalty, {2.5F, -3.0F, nan}},
      {"frequency_penalty", &SamplingParams::frequency_penalty, {2.5F, -3.0F, infinity}},
  };
  for (const Case& c : cases) {
    for (const float value : c.values) {
      EXPECT_EQ(field_refused([&](SamplingParams& p) { p.*c.member = value; }), c.field) << value;
    }
  }
}

// F1: every numeric field has a range, whole numbers too.
TEST(ValidateSampling, WholeNumbersHaveRanges) {
  constexpr auto kMin = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(field_refused([](SamplingParams& p) { p.top_k = -1; }), "top_k");
  EXPECT_EQ(field_refused([](SamplingParams& p) { p.top_k = kMin; }), "top_k");
  EXPECT_EQ(field_refused([](SamplingParams& p) { p.penalty_last_n = -2; }), "repeat_last_n");
  EXPECT_EQ(field_refused([](SamplingParams& p) { p.top_logprobs = 21; }), "top_logprobs");
  EXPECT_EQ(field_refused([](SamplingParams& p) { p.top_logprobs = -2; }), "top_logprobs");
  EXPECT_EQ(field_refused([](SamplingParams& p) { p.logit_bias = {{-1, 0.0F}}; }), "logit_bias");
  EXPECT_EQ(field_refused([](SamplingParams& p) { p.logit_bias = {{1, 101.0F}}; }), "logit_bias");
  EXPECT_EQ(field_refused([](SamplingParams& p) { p.logit_bias.resize(SamplingLimits::kMaxBiases + 1); }),
            "logit_bias");
}

}  // namespace
}  // namespace takt
