#include "exec/cpu/step_estimate.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace takt {
namespace {

std::unique_ptr<CpuExecutor> load_tiny(const Clock& clock, std::uint32_t blocks) {
  CpuExecutorOptions options;
  options.threads = 2;
  options.kv_blocks = blocks;
  auto executor = CpuExecutor::load(TAKT_SOURCE_DIR "/tests/data/tiny.gguf", options, clock);
  return executor ? std::move(*executor) : nullptr;
}

// The token after a prompt and its logprob; nothing when there is none.
std::optional<std::pair<TokenId, float>> answer(CpuExecutor& executor) {
  SequenceSpec spec;
  spec.id = SequenceId(1);
  spec.sampling.temperature = 0.0F;
  spec.sampling.top_logprobs = 0;
  if (!executor.open(std::move(spec)).ok()) return std::nullopt;
  const std::vector<TokenId> tokens{72, 101, 108, 108, 111};
  const std::vector<BlockId> blocks{BlockId(0)};
  const std::span<const BlockId> table = blocks;
  BoundEntry entry;
  entry.sequence = SequenceId(1);
  entry.tokens = tokens;
  entry.tables = {&table, 1};
  entry.samples = true;
  const auto ticket = executor.submit({StepId(1), {&entry, 1}});
  if (!ticket) return std::nullopt;
  const auto result = executor.collect(*ticket);
  executor.close(SequenceId(1));
  if (!result || result->entries[0].outcome != EntryOutcome::kSampled) return std::nullopt;
  const SampledToken& sampled = result->entries[0].sampled;
  return std::pair(sampled.token, sampled.logprob);
}

TEST(StepEstimate, MeasuresRowsAndDistanceAndLeavesTheExecutorAsItWas) {
  SteadyClock clock;
  const auto executor = load_tiny(clock, 80);
  ASSERT_TRUE(executor);
  const auto before = answer(*executor);
  ASSERT_TRUE(before);
  {
    StepEstimate estimate(*executor);
    const auto steps = estimate.telling_steps();
    ASSERT_TRUE(steps) << steps.error().message;
    ASSERT_EQ(steps->size(), 3U);
    for (const EstimatedStep& step : *steps) EXPECT_GT(step.time, Duration::zero());
    EXPECT_EQ(steps->at(0).load.tokens, 1U);
    EXPECT_GT(steps->at(1).load.tokens, 1U);
    EXPECT_EQ(steps->at(1).load.position, 0U);
    EXPECT_EQ(steps->at(2).load.position, 1000U);
  }
  EXPECT_EQ(answer(*executor), before);
}

TEST(StepEstimate, StaysWithinASmallPool) {
  SteadyClock clock;
  const auto executor = load_tiny(clock, 2);
  ASSERT_TRUE(executor);
  StepEstimate estimate(*executor);
  const auto steps = estimate.telling_steps();
  ASSERT_TRUE(steps) << steps.error().message;
  ASSERT_EQ(steps->size(), 3U);
  EXPECT_EQ(steps->at(2).load.position, 2 * 16 - steps->at(2).load.tokens);
  EXPECT_FALSE(estimate.step({0, 0}));
}

}  // namespace
}  // namespace takt
