#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "kernels/kernel_table.h"
#include "sampling/candidates.h"

namespace takt {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

std::set<TokenId> left_of(const std::vector<float>& logits, const SamplingParams& params) {
  std::vector<Candidate> out;
  filter(logits, params, scalar_kernels(), out);
  std::set<TokenId> tokens;
  for (const Candidate& c : out) tokens.insert(c.token);
  EXPECT_EQ(tokens.size(), out.size());
  return tokens;
}

std::vector<float> log_of(std::vector<double> probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

std::vector<float> random_logits(std::size_t n, unsigned seed, double spread) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.0, spread);
  std::vector<float> logits(n);
  for (float& l : logits) l = static_cast<float>(normal(random));
  return logits;
}

// The definitions, slowly: everything sorted, in double.
struct Slow {
  struct Token {
    TokenId id;
    double logit;
    double p;
    double rank;
  };
  std::vector<Token> tokens;

  explicit Slow(const std::vector<float>& logits) {
    for (std::size_t i = 0; i < logits.size(); ++i) {
      tokens.push_back({static_cast<TokenId>(i), static_cast<double>(logits[i]), 0.0, 0.0});
    }
    normalise();
  }
  void normalise() {
    std::stable_sort(tokens.begin(), tokens.end(), [](const Token& a, const Token& b) { return a.logit > b.logit; });
    double total = 0.0;
    for (Token& t : tokens) total += t.p = std::exp(t.logit - tokens.front().logit);
    for (Token& t : tokens) t.p /= total;
  }
  void top_k(std::size_t k) {
    if (k < tokens.size()) tokens.resize(k);
    normalise();
  }
  void nucleus(double p) {
    double mass = 0.0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if ((mass += tokens[i].p) >= p) tokens.resize(i + 1);
    }
    normalise();
  }
  void typical(double p) {
    double entropy = 0.0;
    for (const Token& t : tokens) entropy -= t.p * std::log(t.p);
    for (Token& t : tokens) t.rank = std::fabs(-std::log(t.p) - entropy);
    std::stable_sort(tokens.begin(), tokens.end(), [](const Token& a, const Token& b) { return a.rank < b.rank; });
    double mass = 0.0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if ((mass += tokens[i].p) > p) tokens.resize(i + 1);
    }
    normalise();
  }
  void min_p(double p) {
    const double most = tokens.front().p;
    std::erase_if(tokens, [&](const Token& t) { return t.p < p * most; });
  }
  std::set<TokenId> ids() const {
    std::set<TokenId> ids;
    for (const Token& t : tokens) ids.insert(t.id);
    return ids;
  }
};

TEST(Filters, SelectBestIsTheHeadOfAFullSort) {
  for (const std::size_t n : {1U, 7U, 100U, 6000U}) {
    std::vector<float> logits = random_logits(n, 7, 2.0);
    for (std::size_t i = 0; i < n; ++i) logits[i] = std::round(logits[i] * 4.0F) / 4.0F;  // many equal ones
    std::vector<Candidate> all;
    for (std::size_t i = 0; i < n; ++i) all.push_back({logits[i], static_cast<TokenId>(i), 0.0F});
    std::sort(all.begin(), all.end(), better);
    for (const std::size_t k : {0U, 1U, 5U, 99U, 5000U, 7000U}) {
      std::vector<Candidate> best;
      select_best(logits, k, best);
      ASSERT_EQ(best.size(), std::min(k, n));
      for (std::size_t i = 0; i < best.size(); ++i) EXPECT_EQ(best[i].token, all[i].token);
    }
  }
}

TEST(Filters, TopKBreaksTiesByLowerId) {
  SamplingParams params;
  params.top_k = 2;
  EXPECT_EQ(left_of({1.0F, 3.0F, 2.0F, 2.0F, 2.0F}, params), (std::set<TokenId>{1, 2}));
}

TEST(Filters, TopPKeepsTheTokenThatCrossesTheMass) {
  SamplingParams params;
  params.top_p = 0.6F;
  EXPECT_EQ(left_of(log_of({0.1, 0.5, 0.2, 0.15, 0.05}), params), (std::set<TokenId>{1, 2}));
  params.top_p = 0.0F;
  EXPECT_EQ(left_of(log_of({0.1, 0.5, 0.2, 0.15, 0.05}), params), (std::set<TokenId>{1}));
}

TEST(Filters, MinPIsRelativeToTheBest) {
  SamplingParams params;
  params.min_p = 0.3F;
  EXPECT_EQ(left_of(log_of({0.1, 0.5, 0.2, 0.16, 0.04}), params), (std::set<TokenId>{1, 2, 3}));
  params.min_p = 1.0F;
  EXPECT_EQ(left_of(log_of({0.1, 0.5, 0.2, 0.16, 0.04}), params), (std::set<TokenId>{1}));
}

TEST(Filters, TypicalMayLeaveTheBestOut) {
  SamplingParams params;
  params.typical_p = 0.25F;
  // Entropy is 1.83 nats: 0.2 (1.61) is nearest, then the tokens of 0.1 (2.30), and 0.3 (1.20) comes last.
  EXPECT_EQ(left_of(log_of({0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1}), params), (std::set<TokenId>{1, 2}));
}

TEST(Filters, ComputeTheirDefinitionsAtEverySizeAndSpread) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    const std::size_t n = round % 3 == 0 ? 50 : round % 3 == 1 ? 1000 : 30000;
    const std::vector<float> logits = random_logits(n, static_cast<unsigned>(round), round % 2 == 0 ? 0.5 : 4.0);
    SamplingParams params;
    const auto chance = [&] { return random() % 2 == 0; };
    const auto between = [&](double low, double high) {
      return static_cast<float>(low + (high - low) * static_cast<double>(random() % 1000) / 1000.0);
    };
    if (chance()) params.top_k = static_cast<std::int32_t>(1 + random() % 400);
    if (chance()) params.typical_p = between(0.2, 0.99);
    if (chance()) params.top_p = between(0.05, 0.999);
    if (chance()) params.min_p = between(0.001, 0.5);
    Slow slow(logits);
    if (params.top_k > 0) slow.top_k(static_cast<std::size_t>(params.top_k));
    if (params.typical_p < 1.0F) slow.typical(static_cast<double>(params.typical_p));
    if (params.top_p < 1.0F) slow.nucleus(static_cast<double>(params.top_p));
    if (params.min_p > 0.0F) slow.min_p(static_cast<double>(params.min_p));
    const auto expected = slow.ids();
    const auto got = left_of(logits, params);
    // A token exactly on a border may fall either way between F32 and double sums.
    std::vector<TokenId> apart;
    std::set_symmetric_difference(expected.begin(), expected.end(), got.begin(), got.end(), std::back_inserter(apart));
    EXPECT_LE(apart.size(), 1U + expected.size() / 2000)
        << "round " << round << " expected " << expected.size() << " got " << got.size();
  }
}

TEST(Filters, BannedTokensNeverRemain) {
  const std::vector<float> logits{kNone, 0.0F, kNone, 1.0F, kNone};
  SamplingParams params;
  params.top_k = 4;
  EXPECT_EQ(left_of(logits, params), (std::set<TokenId>{1, 3}));
  params = {};
  params.typical_p = 0.999F;
  EXPECT_EQ(left_of(logits, params), (std::set<TokenId>{1, 3}));
  params = {};
  params.top_p = 0.9999F;
  EXPECT_EQ(left_of(logits, params), (std::set<TokenId>{1, 3}));
}

TEST(Filters, OneTokenIsAlwaysLeft) {
  for (const float p : {0.0F, 1e-6F, 0.5F, 1.0F}) {
    SamplingParams params;
    params.top_p = p;
    params.min_p = p;
    params.typical_p = std::max(p, 1e-6F);
    EXPECT_GE(left_of({0.0F}, params).size(), 1U);
    EXPECT_GE(left_of({kNone, 80.0F, -80.0F, 80.0F}, params).size(), 1U);
  }
}

}  // namespace
}  // namespace takt
