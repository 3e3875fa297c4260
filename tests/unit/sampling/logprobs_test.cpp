#include "sampling/logprobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/isa.h"

namespace takt {
namespace {

std::vector<float> random_logits(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.0, 3.0);
  std::vector<float> logits(n);
  for (float& l : logits) l = static_cast<float>(normal(random));
  return logits;
}

// C15: logprobs are at most 0 and sum to 1 over the whole vocabulary.
TEST(Logprobs, AreAtMostZeroAndSumToOneOverTheVocabulary) {
  for (const std::size_t n : {1U, 2U, 17U, 49152U, 262144U}) {
    const auto logits = random_logits(n, static_cast<unsigned>(n));
    const float normalizer = log_normalizer(scalar_kernels(), logits);
    double sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      const float logprob = logprob_of(logits, normalizer, static_cast<TokenId>(i));
      EXPECT_LE(logprob, 0.0F);
      sum += std::exp(static_cast<double>(logprob));
    }
    EXPECT_NEAR(sum, 1.0, 1e-3) << n;
  }
}

TEST(Logprobs, EqualTheSoftmaxInDouble) {
  const auto logits = random_logits(1000, 3);
  double total = 0.0;
  for (const float l : logits) total += std::exp(static_cast<double>(l));
  EXPECT_NEAR(log_normalizer(scalar_kernels(), logits), std::log(total), 1e-5);
}

TEST(Logprobs, TopOnesAreSortedWithTiesByLowerId) {
  const std::vector<float> logits{1.0F, 2.0F, 0.5F, 2.0F, 1.0F, -std::numeric_limits<float>::infinity()};
  std::vector<Candidate> scratch;
  const float normalizer = log_normalizer(scalar_kernels(), logits);
  const auto top = top_logprobs(logits, normalizer, 4, scratch);
  ASSERT_EQ(top.size(), 4U);
  EXPECT_EQ(top[0].token, 1);
  EXPECT_EQ(top[1].token, 3);
  EXPECT_EQ(top[2].token, 0);
  EXPECT_EQ(top[3].token, 4);
  EXPECT_EQ(top[0].logprob, logprob_of(logits, normalizer, 1));
  EXPECT_EQ(top_logprobs(logits, normalizer, 100, scratch).size(), 5U);
  EXPECT_TRUE(top_logprobs(logits, normalizer, 0, scratch).empty());
}

TEST(Logprobs, AreTheSameBitsOnEveryInstructionSetHere) {
  for (const Isa isa : isa_built()) {
    if (!isa_available(isa)) continue;
    for (const std::size_t n : {1U, 15U, 1000U, 49152U}) {
      const auto logits = random_logits(n, static_cast<unsigned>(n));
      EXPECT_EQ(log_normalizer(scalar_kernels(), logits), log_normalizer(kernel_table(isa), logits)) << isa_name(isa);
    }
  }
}

TEST(Logprobs, BadLogitsAreErrors) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(check_logits(std::vector<float>{0.0F, -kInfinity}).ok());
  EXPECT_FALSE(check_logits(std::vector<float>{0.0F, kNaN}).ok());
  EXPECT_FALSE(check_logits(std::vector<float>{0.0F, kInfinity}).ok());
  EXPECT_FALSE(check_logits(std::vector<float>{-kInfinity, -kInfinity}).ok());
  EXPECT_FALSE(check_logits({}).ok());
}

TEST(Logprobs, APromptTokenOutsideTheVocabularyIsAnError) {
  std::vector<Candidate> scratch;
  const std::vector<float> logits{0.0F, 1.0F};
  EXPECT_TRUE(prompt_logprob(logits, 1, 1, scalar_kernels(), scratch).ok());
  EXPECT_FALSE(prompt_logprob(logits, 2, 1, scalar_kernels(), scratch).ok());
  EXPECT_FALSE(prompt_logprob(logits, -1, 1, scalar_kernels(), scratch).ok());
}

}  // namespace
}  // namespace takt
