#include "exec/cpu/cpu_executor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "base/cpu_topology.h"
#include "exec/cpu/logprob_probe.h"

namespace takt {
namespace {

constexpr const char* kTiny = TAKT_SOURCE_DIR "/tests/data/tiny.gguf";

class CpuExecutorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    CpuExecutorOptions options;
    options.kv_blocks = 64;
    options.max_step_tokens = 300;
    auto made = CpuExecutor::load(kTiny, options, clock_);
    ASSERT_TRUE(made.ok()) << made.error().message;
    executor_ = std::move(*made);
    for (std::uint32_t i = 0; i < 64; ++i) table_.emplace_back(i);
    table_span_ = table_;
  }
  void open(std::uint64_t id, std::int32_t top_logprobs = -1) {
    SequenceSpec spec;
    spec.id = SequenceId(id);
    spec.sampling.temperature = 0.0F;
    spec.sampling.top_logprobs = top_logprobs;
    ASSERT_TRUE(executor_->open(std::move(spec)).ok());
  }
  BoundEntry entry(std::uint64_t id, std::span<const TokenId> tokens) {
    BoundEntry out;
    out.sequence = SequenceId(id);
    out.tokens = tokens;
    out.tables = {&table_span_, 1};
    return out;
  }
  std::string refusal(const BoundEntry& bad) {
    const auto ticket = executor_->submit({StepId(1), {&bad, 1}});
    return ticket.ok() ? "" : ticket.error().message;
  }

  SteadyClock clock_;
  std::unique_ptr<CpuExecutor> executor_;
  std::vector<BlockId> table_;
  std::span<const BlockId> table_span_;
};

TEST_F(CpuExecutorTest, WhatDoesNotFitAStepIsRefusedByName) {
  open(1);
  const std::vector<TokenId> good{1, 2, 3};
  const std::vector<TokenId> outside{1, 100000};
  const std::vector<TokenId> negative{-1};
  const std::vector<TokenId> many(301, 5);
  EXPECT_NE(refusal(entry(1, outside)).find("token 100000"), std::string::npos);
  EXPECT_NE(refusal(entry(1, negative)).find("token -1"), std::string::npos);
  EXPECT_NE(refusal(entry(1, many)).find("301 rows"), std::string::npos);
  EXPECT_NE(refusal(entry(1, {})).find("without tokens"), std::string::npos);
  BoundEntry beyond = entry(1, good);
  beyond.first_position = 2046;
  EXPECT_NE(refusal(beyond).find("beyond the context of 2048"), std::string::npos);
  BoundEntry embed = entry(1, good);
  embed.kind = EntryKind::kEmbed;
  EXPECT_NE(refusal(embed).find("embeddings"), std::string::npos);
  BoundEntry targets = entry(1, good);
  targets.prompt_targets = outside;
  EXPECT_NE(refusal(targets).find("prompt targets"), std::string::npos);
  table_[0] = BlockId(64);
  EXPECT_NE(refusal(entry(1, good)).find("KV block 64"), std::string::npos);
}

// C15: over the whole vocabulary, at most 0, summing to 1.
TEST_F(CpuExecutorTest, LogprobsAreADistribution) {
  auto probe = LogprobProbe::load(kTiny, {});
  ASSERT_TRUE(probe.ok());
  LogprobQuery query;
  query.prompt_ids = {72, 101, 108, 108, 111};
  query.top = executor_->capabilities().vocab_size;
  query.generate = 3;
  const auto answer = (*probe)->answer(query);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  for (const PositionLogprobs& at : answer->positions) {
    double sum = 0.0;
    for (const float logprob : at.top_logprobs) {
      EXPECT_LE(logprob, 0.0F);
      sum += std::exp(static_cast<double>(logprob));
    }
    EXPECT_NEAR(sum, 1.0, 1e-5);
  }
}

// F5: the logits of a long prompt are made in tiles; all its logprobs come, equal to those of the probe.
TEST_F(CpuExecutorTest, PromptLogprobsOfManyRowsComeInOneStep) {
  open(1, 0);
  std::vector<TokenId> tokens;
  std::vector<TokenId> targets;
  LogprobQuery query;
  for (std::uint32_t i = 0; i < 300; ++i) {
    tokens.push_back(static_cast<TokenId>(i * 37 % 256));
    targets.push_back(static_cast<TokenId>((i + 1) * 37 % 256));
    query.ids_at.push_back({i, {targets.back()}});
  }
  BoundEntry scored = entry(1, tokens);
  scored.prompt_targets = targets;
  const auto ticket = executor_->submit({StepId(1), {&scored, 1}});
  ASSERT_TRUE(ticket.ok()) << ticket.error().message;
  const auto result = executor_->collect(*ticket);
  ASSERT_TRUE(result.ok()) << result.error().message;
  query.prompt_ids = tokens;
  auto probe = LogprobProbe::load(kTiny, {});
  const auto answer = (*probe)->answer(query);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  const auto& logprobs = result->entries[0].prompt_logprobs;
  ASSERT_EQ(logprobs.size(), 300U);
  for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(logprobs[i].logprob, answer->positions[i].logprobs[0]) << i;
}

// Greedy rows keep only their best token; beside them, in the same step, rows that want logprobs keep all logits.
TEST_F(CpuExecutorTest, GreedyTokensAreTheSameWithAndWithoutTheirLogits) {
  std::vector<std::vector<TokenId>> prompts;
  for (std::uint64_t i = 0; i < 6; ++i) {
    std::vector<TokenId>& prompt = prompts.emplace_back();
    for (std::uint64_t t = 0; t < 5 + i; ++t) prompt.push_back(static_cast<TokenId>((i * 31 + t * 17) % 256));
  }
  const auto sample_all = [&](std::uint64_t first_id, std::uint64_t with_logprobs) {
    std::vector<BoundEntry> entries;
    std::vector<std::span<const BlockId>> tables;
    for (std::uint64_t i = 0; i < prompts.size(); ++i) {
      open(first_id + i, (with_logprobs >> i & 1) != 0 ? 2 : -1);
      tables.emplace_back(std::span(table_).subspan(8 * i, 8));
    }
    for (std::uint64_t i = 0; i < prompts.size(); ++i) {
      entries.push_back(entry(first_id + i, prompts[i]));
      entries.back().tables = {&tables[i], 1};
      entries.back().samples = true;
    }
    std::vector<TokenId> sampled;
    const auto ticket = executor_->submit({StepId(1), entries});
    EXPECT_TRUE(ticket.ok());
    const auto result = executor_->collect(*ticket);
    EXPECT_TRUE(result.ok());
    for (std::uint64_t i = 0; i < prompts.size(); ++i) {
      const EntryResult& got = result->entries[i];
      EXPECT_EQ(got.outcome, EntryOutcome::kSampled);
      EXPECT_EQ(got.sampled.top.size(), (with_logprobs >> i & 1) != 0 ? 2U : 0U);
      if (!got.sampled.top.empty()) {
        EXPECT_EQ(got.sampled.top[0].token, got.sampled.token);
      }
      sampled.push_back(got.sampled.token);
      executor_->close(SequenceId(first_id + i));
    }
    return sampled;
  };
  const std::vector<TokenId> with_all = sample_all(1, 0b111111);
  EXPECT_EQ(sample_all(11, 0), with_all);
  EXPECT_EQ(sample_all(21, 0b010110), with_all);
}

TEST_F(CpuExecutorTest, AnEmptyStepIsComputedAndAStepIsCollectedOnce) {
  const auto ticket = executor_->submit({StepId(5), {}});
  ASSERT_TRUE(ticket.ok());
  EXPECT_FALSE(executor_->submit({StepId(6), {}}).ok());
  EXPECT_TRUE(executor_->collect(*ticket).ok());
  EXPECT_FALSE(executor_->collect(*ticket).ok());
}

TEST(CpuExecutorWithWeightsInTheFile, AFileThatShrinksIsAnErrorOfTheStepThatNamesTheTensor) {
  const auto path = std::filesystem::path(::testing::TempDir()) / ("takt-cut" + std::to_string(::getpid()) + ".gguf");
  std::filesystem::copy_file(kTiny, path, std::filesystem::copy_options::overwrite_existing);
  SteadyClock clock;
  CpuExecutorOptions options;
  options.kv_blocks = 64;
  options.repack = false;
  const auto executor = CpuExecutor::load(path, options, clock);
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  SequenceSpec spec;
  spec.id = SequenceId(1);
  ASSERT_TRUE((*executor)->open(std::move(spec)).ok());
  const std::vector<TokenId> tokens{1, 2, 3};
  const std::vector<BlockId> table{BlockId(0)};
  const std::span<const BlockId> tables[] = {table};
  BoundEntry entry;
  entry.sequence = SequenceId(1);
  entry.tokens = tokens;
  entry.tables = tables;
  entry.samples = true;
  const auto step = [&] {
    const auto ticket = (*executor)->submit({StepId(1), {&entry, 1}});
    EXPECT_TRUE(ticket.ok());
    return (*executor)->collect(*ticket);
  };
  EXPECT_TRUE(step().ok());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 256);
  const auto failed = step();
  std::filesystem::remove(path);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kIo);
  EXPECT_NE(failed.error().message.find("tensor output.weight"), std::string::npos) << failed.error().message;
}

TEST(CpuRuntimeTest, AnUnknownInstructionSetIsRefusedByName) {
  CpuExecutorOptions options;
  options.isa = "sse9";
  const auto runtime = make_cpu_runtime(options);
  ASSERT_FALSE(runtime.ok());
  EXPECT_NE(runtime.error().message.find("sse9"), std::string::npos);
}

TEST(CpuRuntimeTest, AThreadCountOutOfRangeIsRefusedWithTheLimit) {
  for (const int threads : {-1, 1025}) {
    CpuExecutorOptions options;
    options.threads = threads;
    const auto runtime = make_cpu_runtime(options);
    ASSERT_FALSE(runtime.ok()) << threads;
    EXPECT_EQ(runtime.error().field, "threads");
    EXPECT_NE(runtime.error().message.find("0 (automatic) to 1024"), std::string::npos);
  }
}

TEST(CpuRuntimeTest, NoThreadCountTakesWhatTheMachineAllowsAndAGivenOneIsTakenAsItIs) {
  CpuExecutorOptions options;
  auto runtime = make_cpu_runtime(options);
  ASSERT_TRUE(runtime.ok());
  EXPECT_EQ(runtime->pool->threads(), detect_cpu_budget().threads);
  options.threads = detect_cpu_budget().threads + 3;  // above the cores: slower, never wrong
  runtime = make_cpu_runtime(options);
  ASSERT_TRUE(runtime.ok());
  EXPECT_EQ(runtime->pool->threads(), options.threads);
  EXPECT_EQ(runtime->reason, "set by option");
}

TEST(LogprobProbeTest, WrongQueriesAreRefusedByField) {
  auto probe = LogprobProbe::load(kTiny, {});
  ASSERT_TRUE(probe.ok());
  LogprobQuery query;
  EXPECT_EQ((*probe)->answer(query).error().field, "prompt_ids");
  query.prompt_ids = {1, 2, 286};
  EXPECT_EQ((*probe)->answer(query).error().field, "prompt_ids");
  query.prompt_ids = {1, 2};
  query.ids_at = {{2, {1}}};
  EXPECT_EQ((*probe)->answer(query).error().field, "ids_at");
  query.ids_at = {{1, {-1}}};
  EXPECT_EQ((*probe)->answer(query).error().field, "ids_at");
  query.ids_at.clear();
  query.generate = 3000;
  EXPECT_EQ((*probe)->answer(query).error().code, ErrorCode::kContextLength);
}

}  // namespace
}  // namespace takt
