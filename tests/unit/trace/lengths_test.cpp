#include "trace/lengths.h"

#include <gtest/gtest.h>

#include "unit/trace/statistics.h"
#include "unit/trace/temporary_folder.h"

namespace takt::trace {
namespace {

std::vector<double> sample(const char* text, std::size_t count) {
  const auto lengths = LengthDistribution::parse(text);
  EXPECT_TRUE(lengths) << text;
  std::vector<double> drawn;
  for (std::size_t i = 0; i < count; ++i) drawn.push_back(lengths->draw(3, i));
  return drawn;
}

TEST(LengthDistribution, AFixedLengthIsAlwaysTheSame) {
  for (const double length : sample("512", 100)) EXPECT_EQ(length, 512);
}

TEST(LengthDistribution, AUniformOneHasBothEndsAndNothingBeyond) {
  const auto drawn = sample("uniform:3-7", 20'000);
  for (double value = 3; value <= 7; ++value)
    EXPECT_NEAR(static_cast<double>(std::count(drawn.begin(), drawn.end(), value)), 4000, 250) << value;
  EXPECT_EQ(*std::min_element(drawn.begin(), drawn.end()), 3);
  EXPECT_EQ(*std::max_element(drawn.begin(), drawn.end()), 7);
}

TEST(LengthDistribution, ALogNormalOneHasItsMedianAndSpread) {
  auto drawn = sample("lognormal:400,0.8", 20'000);
  for (double& length : drawn) length = std::log(length);
  EXPECT_NEAR(moments(drawn).mean, std::log(400.0), 0.02);
  EXPECT_NEAR(moments(drawn).cv * moments(drawn).mean, 0.8, 0.02);
  const auto bounded = sample("lognormal:400,0.8,min=200,max=500", 5'000);
  EXPECT_EQ(*std::min_element(bounded.begin(), bounded.end()), 200);
  EXPECT_EQ(*std::max_element(bounded.begin(), bounded.end()), 500);
}

TEST(LengthDistribution, WhatIsNoDistributionIsRefused) {
  for (const char* text :
       {"", "0", "-1", "1.5", "abc", "uniform:", "uniform:5", "uniform:7-3", "uniform:0-3",
        "lognormal:", "lognormal:400", "lognormal:0,1", "lognormal:400,-1", "lognormal:400,1,min=0",
        "lognormal:400,1,min=9,max=8", "lognormal:400,1,mean=3", "100000001", "lognormal:nan,1", "lognormal:1,inf"})
    EXPECT_FALSE(LengthDistribution::parse(text)) << text;
}

TEST(Lengths, PromptAndOutputAreDrawnApart) {
  const auto both = LengthDistribution::parse("uniform:1-1000");
  const auto lengths = independent_lengths(*both, *both, 5);
  double products = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const Lengths drawn = lengths->draw(i);
    products += (drawn.prompt_tokens - 500.5) * (drawn.output_tokens - 500.5);
  }
  EXPECT_LT(std::abs(products / 10'000 / (1000.0 * 1000.0 / 12.0)), 0.03);
}

TEST(Lengths, PairsOfATraceStayPairsAndKeepTheirShares) {
  const TemporaryFolder folder;
  const auto reader = open_trace(folder.write("t", "input_tokens,output_tokens\n1,10\n2,20\n2,20\n3,30\n"));
  const auto lengths = lengths_of(**reader, 5);
  ASSERT_TRUE(lengths);
  int twos = 0;
  for (std::uint64_t i = 0; i < 8'000; ++i) {
    const Lengths drawn = (*lengths)->draw(i);
    EXPECT_EQ(drawn.output_tokens, drawn.prompt_tokens * 10);
    twos += drawn.prompt_tokens == 2 ? 1 : 0;
  }
  EXPECT_NEAR(twos, 4000, 200);
}

TEST(Lengths, AReservoirKeepsRowsOfTheWholeTrace) {
  const TemporaryFolder folder;
  std::string text = "input_tokens,output_tokens\n";
  for (int i = 1; i <= 20'000; ++i) text += std::to_string(i) + ",1\n";
  const auto reader = open_trace(folder.write("t", text));
  const auto lengths = lengths_of(**reader, 5, 1000);
  ASSERT_TRUE(lengths);
  std::vector<double> drawn;
  for (std::uint64_t i = 0; i < 10'000; ++i) drawn.push_back((*lengths)->draw(i).prompt_tokens);
  EXPECT_NEAR(moments(drawn).mean, 10'000, 600);
}

TEST(Lengths, AnEmptyTraceIsAnError) {
  const TemporaryFolder folder;
  const auto reader = open_trace(folder.write("t", "input_tokens,output_tokens\n"));
  EXPECT_FALSE(lengths_of(**reader, 5));
}

}  // namespace
}  // namespace takt::trace
