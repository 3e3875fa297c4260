#include "sampling/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "kernels/isa.h"
#include "unit/sampling/statistics.h"

namespace takt {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

std::vector<float> random_logits(std::size_t n, unsigned seed, double spread = 2.0) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.0, spread);
  std::vector<float> logits(n);
  for (float& l : logits) l = static_cast<float>(normal(random));
  return logits;
}

SampledToken must_sample(const SamplerState& state, const LogitsRow& row, SamplerScratch& scratch,
                         const KernelTable& kernels = scalar_kernels()) {
  auto sampled = state.sample(row, kernels, scratch);
  EXPECT_TRUE(sampled.ok()) << sampled.error().message;
  return sampled.ok() ? *sampled : SampledToken{};
}

TokenId greedy(SamplingParams params, const std::vector<TokenId>& known, std::uint32_t prompt_tokens,
               const std::vector<float>& logits) {
  params.temperature = 0.0F;
  const SamplerState state(params, {}, known, prompt_tokens);
  SamplerScratch scratch;
  return must_sample(state, {logits, static_cast<std::uint32_t>(known.size()) - 1}, scratch).token;
}

TEST(Sampler, GreedyTakesTheBestAndTheLowerIdOfEqualOnes) {
  EXPECT_EQ(greedy({}, {0}, 1, {0.0F, 3.0F, 1.0F, 3.0F}), 1);
}

// Logits of few different values, so that most rows have ties; some with bans, some that cannot be sampled.
TEST(Sampler, TheBestAloneGivesTheTokenAndTheErrorsOfAllLogits) {
  constexpr float kOdd[] = {kNone, -0.0F, 0.0F, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()};
  std::mt19937 random(7);
  SamplingParams params;
  params.temperature = 0.0F;
  const SamplerState state(params, {}, {}, 0);
  ASSERT_TRUE(state.wants_best_only(false));
  SamplerScratch scratch;
  for (int round = 0; round < 500; ++round) {
    std::vector<float> logits(1 + random() % 70);
    const std::uint64_t values = 1 + random() % 6;
    for (float& logit : logits) logit = static_cast<float>(random() % values) - 2.0F;
    if (round % 3 == 0) {
      for (float& logit : logits) logit = random() % 2 == 0 ? kNone : kOdd[random() % 3];
    }
    if (round % 5 == 0) logits[random() % logits.size()] = kOdd[random() % 5];
    std::vector<std::uint32_t> order(logits.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    RowBest best;
    for (const std::uint32_t i : order) {
      if (!best.may_take(logits[i])) continue;
      if (logits[i] < std::numeric_limits<float>::infinity()) {
        best.offer(logits[i], i);
      } else {
        best.spoil();
      }
    }
    const auto want = state.sample({logits, 0}, scalar_kernels(), scratch);
    const auto got = SamplerState::sample_best(best);
    ASSERT_EQ(got.ok(), want.ok()) << round;
    if (want.ok()) {
      EXPECT_EQ(got->token, want->token) << round;
    } else {
      EXPECT_EQ(got.error().message, want.error().message) << round;
    }
  }
}

TEST(Sampler, RowsThatNeedMoreThanTheBestSaySo) {
  SamplingParams greedy_params;
  greedy_params.temperature = 0.0F;
  const auto wants = [](const SamplingParams& params, bool suppresses, std::vector<TokenId> ends = {}) {
    return SamplerState(params, std::move(ends), {}, 0).wants_best_only(suppresses);
  };
  EXPECT_TRUE(wants(greedy_params, false, {2}));
  EXPECT_TRUE(wants(greedy_params, true));
  EXPECT_FALSE(wants(greedy_params, true, {2}));
  SamplingParams params = greedy_params;
  params.temperature = 0.5F;
  EXPECT_FALSE(wants(params, false));
  params = greedy_params;
  params.top_logprobs = 0;
  EXPECT_FALSE(wants(params, false));
  params = greedy_params;
  params.logit_bias = {{1, 2.0F}};
  EXPECT_FALSE(wants(params, false));
  params = greedy_params;
  params.presence_penalty = 0.5F;
  EXPECT_FALSE(wants(params, false));
}

TEST(Sampler, FrequenciesFollowTheSoftmaxAtEveryTemperature) {
  const std::vector<float> logits{0.0F, 1.0F, -1.0F, 2.0F, 0.5F};
  SamplerScratch scratch;
  for (const float temperature : {0.5F, 1.0F, 2.0F}) {
    SamplingParams params;
    params.temperature = temperature;
    params.seed = 20260115;
    const SamplerState state(params, {}, {}, 0);
    std::vector<double> expected;
    double total = 0.0;
    for (const float l : logits) total += std::exp(static_cast<double>(l / temperature));
    for (const float l : logits) expected.push_back(std::exp(static_cast<double>(l / temperature)) / total);
    std::vector<std::size_t> counts(logits.size(), 0);
    constexpr std::size_t kDraws = 20000;
    for (std::uint32_t position = 0; position < kDraws; ++position) {
      ++counts[static_cast<std::size_t>(must_sample(state, {logits, position}, scratch).token)];
    }
    EXPECT_LT(chi_square(counts, expected, kDraws), chi_square_limit(logits.size() - 1)) << temperature;
  }
}

TEST(Sampler, FilteredFrequenciesFollowTheRenormalisedSoftmax) {
  const auto logits = random_logits(2000, 5);
  SamplingParams params;
  params.top_k = 6;
  params.temperature = 1.5F;
  params.seed = 7;
  std::vector<Candidate> best;
  select_best(logits, 6, best);
  std::vector<double> expected(logits.size(), 0.0);
  double total = 0.0;
  for (const Candidate& c : best) total += std::exp(static_cast<double>(c.logit) / 1.5);
  for (const Candidate& c : best) {
    expected[static_cast<std::size_t>(c.token)] = std::exp(static_cast<double>(c.logit) / 1.5) / total;
  }
  const SamplerState state(params, {}, {}, 0);
  SamplerScratch scratch;
  std::vector<std::size_t> counts(logits.size(), 0);
  constexpr std::size_t kDraws = 20000;
  for (std::uint32_t position = 0; position < kDraws; ++position) {
    ++counts[static_cast<std::size_t>(must_sample(state, {logits, position}, scratch).token)];
  }
  EXPECT_LT(chi_square(counts, expected, kDraws), chi_square_limit(5));
}

TEST(Sampler, DrawsAreIndependentFromSeedToSeed) {
  const std::vector<float> logits(16, 0.0F);
  SamplerScratch scratch;
  std::vector<std::size_t> counts(16, 0);
  constexpr std::size_t kSeeds = 16000;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SamplingParams params;
    params.seed = seed;
    ++counts[static_cast<std::size_t>(must_sample(SamplerState(params, {}, {}, 0), {logits, 3}, scratch).token)];
  }
  EXPECT_LT(chi_square(counts, std::vector<double>(16, 1.0 / 16), kSeeds), chi_square_limit(15));
}

TEST(Sampler, TheSameSeedAndPositionGiveTheSameTokenInAnyOrderAndWithAnyScratch) {
  const auto logits = random_logits(500, 1);
  SamplingParams params;
  params.seed = 99;
  params.top_p = 0.9F;
  const SamplerState state(params, {}, {}, 0);
  SamplerScratch used;
  std::map<std::uint32_t, TokenId> first;
  for (std::uint32_t position = 0; position < 200; ++position) {
    first[position] = must_sample(state, {logits, position}, used).token;
  }
  for (std::uint32_t position = 200; position-- > 0;) {
    SamplerScratch fresh;
    EXPECT_EQ(must_sample(state, {logits, position}, fresh).token, first[position]);
  }
}

TEST(Sampler, IsTheSameBitsOnEveryInstructionSetHere) {
  SamplerScratch scratch;
  for (std::uint32_t round = 0; round < 200; ++round) {
    const auto logits = random_logits(1000 + round, round, 1.0 + round % 5);
    SamplingParams params;
    params.seed = round;
    params.top_logprobs = 5;
    params.temperature = 0.5F + static_cast<float>(round % 4) * 0.5F;
    if (round % 2 == 0) params.top_p = 0.95F;
    if (round % 3 == 0) params.typical_p = 0.9F;
    if (round % 5 == 0) params.min_p = 0.05F;
    const SamplerState state(params, {}, {}, 0);
    const auto expected = must_sample(state, {logits, round}, scratch, scalar_kernels());
    for (const Isa isa : isa_built()) {
      if (!isa_available(isa)) continue;
      const auto sampled = must_sample(state, {logits, round}, scratch, kernel_table(isa));
      EXPECT_EQ(sampled.token, expected.token) << isa_name(isa);
      EXPECT_EQ(sampled.logprob, expected.logprob) << isa_name(isa);
      ASSERT_EQ(sampled.top.size(), expected.top.size());
      for (std::size_t i = 0; i < sampled.top.size(); ++i) {
        EXPECT_EQ(sampled.top[i].token, expected.top[i].token);
        EXPECT_EQ(sampled.top[i].logprob, expected.top[i].logprob);
      }
    }
  }
}

TEST(Sampler, RepetitionPenaltyDividesPositiveAndMultipliesNegativeLogits) {
  SamplingParams params;
  params.repetition_penalty = 2.0F;
  EXPECT_EQ(greedy(params, {1}, 1, {1.1F, 2.0F}), 0);    // 2 / 2 < 1.1
  EXPECT_EQ(greedy(params, {1}, 1, {0.9F, 2.0F}), 1);    // 2 / 2 > 0.9
  EXPECT_EQ(greedy(params, {1}, 1, {-1.5F, -1.0F}), 0);  // -1 * 2 < -1.5
}

TEST(Sampler, PresenceCountsOnceAndFrequencyEveryTime) {
  SamplingParams presence;
  presence.presence_penalty = 0.6F;
  EXPECT_EQ(greedy(presence, {1, 1, 1}, 3, {0.5F, 1.2F}), 1);  // 1.2 - 0.6 > 0.5
  SamplingParams frequency;
  frequency.frequency_penalty = 0.6F;
  EXPECT_EQ(greedy(frequency, {1, 1, 1}, 3, {0.5F, 1.2F}), 0);  // 1.2 - 1.8 < 0.5
  EXPECT_EQ(greedy(frequency, {0, 1, 0}, 3, {0.5F, 1.2F}), 1);
}

TEST(Sampler, PenaltiesLookBackOnAWindowAndMayLeaveThePromptOut) {
  SamplingParams params;
  params.presence_penalty = 2.0F;
  const std::vector<float> logits{0.5F, 1.0F};
  params.penalty_last_n = 2;
  EXPECT_EQ(greedy(params, {1, 0, 0}, 3, logits), 1);  // token 1 is out of the window, token 0 in it
  params.penalty_last_n = 3;
  EXPECT_EQ(greedy(params, {1, 1, 1}, 3, logits), 0);
  params.penalty_last_n = 0;
  EXPECT_EQ(greedy(params, {1, 1, 1}, 3, logits), 1);
  params.penalty_last_n = -1;
  std::vector<TokenId> longer(5000, 2);
  longer[0] = 1;
  EXPECT_EQ(greedy(params, longer, 1, logits), 0);
  params.penalize_prompt = false;
  EXPECT_EQ(greedy(params, {1, 1}, 2, logits), 1);
  EXPECT_EQ(greedy(params, {1, 1, 1}, 2, logits), 0);  // the third was generated
}

TEST(Sampler, FeedingAPositionAgainChangesNothing) {
  SamplingParams params;
  params.temperature = 0.0F;
  params.frequency_penalty = 0.4F;
  const std::vector<float> logits{0.0F, 1.0F, 0.9F};
  SamplerScratch scratch;
  SamplerState once(params, {}, std::vector<TokenId>{0, 1}, 2);
  SamplerState twice(params, {}, std::vector<TokenId>{0, 1}, 2);
  once.feed(2, std::vector<TokenId>{1, 1});
  twice.feed(0, std::vector<TokenId>{0, 1});
  twice.feed(2, std::vector<TokenId>{1});
  twice.feed(1, std::vector<TokenId>{1, 1, 1});
  twice.feed(2, std::vector<TokenId>{1, 1});
  const SamplerState reopened(params, {}, std::vector<TokenId>{0, 1, 1, 1}, 2);
  for (const std::uint32_t position : {1U, 2U, 3U}) {
    const auto expected = must_sample(once, {logits, position}, scratch).token;
    EXPECT_EQ(must_sample(twice, {logits, position}, scratch).token, expected);
    EXPECT_EQ(must_sample(reopened, {logits, position}, scratch).token, expected);
  }
  EXPECT_EQ(must_sample(once, {logits, 3}, scratch).token, 2);  // 1 - 3 * 0.4 < 0.9
}

TEST(Sampler, BiasesAddAndMinusHundredBans) {
  SamplingParams params;
  params.logit_bias = {{0, 2.0F}, {1, -100.0F}, {7, 5.0F}};
  EXPECT_EQ(greedy(params, {0}, 1, {0.0F, 90.0F, 1.0F}), 0);
}

TEST(Sampler, SuppressedEndTokensAreNeverDrawn) {
  SamplingParams params;
  SamplerScratch scratch;
  const SamplerState state(params, {1, 2, 500}, {}, 0);
  const std::vector<float> logits{0.0F, 5.0F, 5.0F};
  for (std::uint32_t position = 0; position < 200; ++position) {
    EXPECT_EQ(must_sample(state, {logits, position, true}, scratch).token, 0);
  }
  std::set<TokenId> free;
  for (std::uint32_t position = 0; position < 200; ++position) {
    free.insert(must_sample(state, {logits, position, false}, scratch).token);
  }
  EXPECT_TRUE(free.contains(1) && free.contains(2));
}

// C15: logprobs are of the raw logits, whatever the sampling settings are.
TEST(Sampler, LogprobsAreOfTheRawLogits) {
  const auto logits = random_logits(300, 8);
  SamplerScratch scratch;
  SamplingParams plain;
  plain.temperature = 0.0F;
  plain.top_logprobs = 3;
  SamplingParams shaped = plain;
  shaped.temperature = 0.3F;
  shaped.top_k = 1;
  shaped.presence_penalty = 0.1F;
  const auto a = must_sample(SamplerState(plain, {}, std::vector<TokenId>{1}, 1), {logits, 0}, scratch);
  const auto b = must_sample(SamplerState(shaped, {}, std::vector<TokenId>{1}, 1), {logits, 0}, scratch);
  ASSERT_EQ(a.token, b.token);
  EXPECT_EQ(a.logprob, b.logprob);
  EXPECT_LE(a.logprob, 0.0F);
  ASSERT_EQ(a.top.size(), 3U);
  EXPECT_EQ(a.top[0].token, a.token);
  EXPECT_EQ(a.top[0].logprob, a.logprob);
}

TEST(Sampler, ARowThatCannotBeSampledIsAnErrorOfItsSequence) {
  SamplerScratch scratch;
  SamplingParams params;
  params.logit_bias = {{0, -100.0F}, {1, -100.0F}};
  const std::vector<float> fine{0.0F, 1.0F};
  EXPECT_FALSE(SamplerState(params, {}, {}, 0).sample({fine, 0}, scalar_kernels(), scratch).ok());
  const std::vector<float> bad{0.0F, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_FALSE(SamplerState({}, {}, {}, 0).sample({bad, 0}, scalar_kernels(), scratch).ok());
  const std::vector<float> none{kNone, kNone};
  EXPECT_FALSE(SamplerState({}, {}, {}, 0).sample({none, 0}, scalar_kernels(), scratch).ok());
  EXPECT_TRUE(SamplerState({}, {}, {}, 0).sample({fine, 0}, scalar_kernels(), scratch).ok());
}

TEST(Sampler, FiltersThatPassEverythingChangeNothing) {
  const auto logits = random_logits(50, 2);
  SamplingParams all;
  all.seed = 4;
  SamplingParams k = all;
  k.top_k = 1000;
  SamplerScratch scratch;
  for (std::uint32_t position = 0; position < 300; ++position) {
    EXPECT_EQ(must_sample(SamplerState(all, {}, {}, 0), {logits, position}, scratch).token,
              must_sample(SamplerState(k, {}, {}, 0), {logits, position}, scratch).token);
  }
}

}  // namespace
}  // namespace takt
