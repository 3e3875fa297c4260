// The executor contract (exec/executor.h) as tests that every executor must pass. A test program includes this header
// once and names its executors:
//
//   INSTANTIATE_TEST_SUITE_P(Fake, ExecutorContract, testing::Values(ExecutorUnderTest{"fake", [] { return ...; }}),
//   executor_name);
//
// The executor needs: a context of at least 256 tokens, 4 sequences, steps of 64 rows, and blocks for 512 tokens.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/kv_group.h"
#include "exec/executor.h"

namespace takt::testing {

struct ExecutorUnderTest {
  std::string name;
  std::function<std::unique_ptr<Executor>()> make;  // a fresh one, nothing open
};

inline std::string executor_name(const ::testing::TestParamInfo<ExecutorUnderTest>& info) {
  return info.param.name;
}

// One sequence driven by hand: known tokens, block tables that grow, one step at a time.
class DrivenSequence {
 public:
  DrivenSequence(Executor& executor, std::uint64_t id, std::vector<TokenId> prompt, SamplingParams sampling = {})
      : executor_(executor),
        id_(id),
        known_(std::move(prompt)),
        sampling_(std::move(sampling)),
        prompt_(known_.size()) {
    tables_.resize(executor.capabilities().groups.size());
  }

  SequenceId id() const { return id_; }
  const std::vector<TokenId>& known() const { return known_; }
  std::uint32_t computed() const { return computed_; }
  std::vector<std::vector<BlockId>>& tables() { return tables_; }
  std::vector<TokenId> generated() const {
    return {known_.begin() + static_cast<std::ptrdiff_t>(prompt_), known_.end()};
  }
  void set_computed(std::uint32_t computed) { computed_ = computed; }

  Status open(std::vector<TokenId> end_tokens = {}) {
    SequenceSpec spec;
    spec.id = id_;
    spec.sampling = sampling_;
    spec.end_tokens = std::move(end_tokens);
    spec.known_tokens = known_;
    spec.prompt_tokens = static_cast<std::uint32_t>(prompt_);
    return executor_.open(std::move(spec));
  }
  void close() { executor_.close(id_); }

  // Takes blocks so that the tables reach `tokens`.
  void cover(std::uint32_t tokens, std::vector<std::uint32_t>& next_block) {
    const auto& groups = executor_.capabilities().groups;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      while (tables_[g].size() * groups[g].block_tokens < tokens) tables_[g].push_back(BlockId(next_block[g]++));
    }
  }

  BoundEntry rows(std::uint32_t count) {
    spans_.assign(tables_.begin(), tables_.end());
    BoundEntry entry;
    entry.sequence = id_;
    entry.first_position = computed_;
    entry.tokens = std::span(known_).subspan(computed_, count);
    entry.tables = spans_;
    entry.samples = computed_ + count == known_.size();
    return entry;
  }

  void take(const EntryResult& result, std::uint32_t count) {
    computed_ += count;
    if (result.outcome == EntryOutcome::kSampled) {
      known_.push_back(result.sampled.token);
      logprobs_.push_back(result.sampled.logprob);
    }
  }
  const std::vector<float>& logprobs() const { return logprobs_; }

 private:
  Executor& executor_;
  SequenceId id_;
  std::vector<TokenId> known_;
  SamplingParams sampling_;
  std::size_t prompt_;
  std::uint32_t computed_ = 0;
  std::vector<std::vector<BlockId>> tables_;
  std::vector<std::span<const BlockId>> spans_;
  std::vector<float> logprobs_;
};

class ExecutorContract : public ::testing::TestWithParam<ExecutorUnderTest> {
 protected:
  void SetUp() override {
    executor = GetParam().make();
    ASSERT_NE(executor, nullptr);
    next_block.assign(executor->capabilities().groups.size(), 0);
  }

  // Prompt tokens inside every vocabulary, never two alike in a row.
  std::vector<TokenId> prompt(std::uint32_t count, std::uint32_t start = 1) const {
    const std::uint32_t usable = std::min(executor->capabilities().vocab_size, 250U);
    std::vector<TokenId> tokens;
    for (std::uint32_t i = 0; i < count; ++i)
      tokens.push_back(static_cast<TokenId>(1 + (start * 31 + i * 17) % (usable - 1)));
    return tokens;
  }

  static SamplingParams seeded(std::uint64_t seed) {
    SamplingParams sampling;
    sampling.seed = seed;
    return sampling;
  }

  // One step of these rows; every entry's result is taken.
  void step(const std::vector<std::pair<DrivenSequence*, std::uint32_t>>& rows) {
    std::vector<BoundEntry> entries;
    for (const auto& [sequence, count] : rows) {
      sequence->cover(sequence->computed() + count, next_block);
      entries.push_back(sequence->rows(count));
    }
    const StepId id(++steps);
    const auto ticket = executor->submit({id, entries, padding_rows});
    ASSERT_TRUE(ticket.ok()) << ticket.error().message;
    EXPECT_EQ(ticket.value().id, id);
    const auto result = executor->collect(ticket.value());
    ASSERT_TRUE(result.ok()) << result.error().message;
    ASSERT_EQ(result.value().entries.size(), entries.size());
    EXPECT_EQ(result.value().id, id);
    EXPECT_GT(result.value().measured, Duration::zero());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const EntryResult& entry = result.value().entries[i];
      EXPECT_EQ(entry.sequence, entries[i].sequence);
      ASSERT_NE(entry.outcome, EntryOutcome::kFailed) << entry.error.message;
      EXPECT_EQ(entry.outcome, entries[i].samples ? EntryOutcome::kSampled : EntryOutcome::kComputed);
      rows[i].first->take(entry, rows[i].second);
    }
  }

  // Prompt in chunks of `chunk`, then rows one by one, until `tokens` are generated.
  void run_alone(DrivenSequence& sequence, std::uint32_t chunk, std::size_t tokens) {
    while (sequence.generated().size() < tokens) {
      const auto left = static_cast<std::uint32_t>(sequence.known().size()) - sequence.computed();
      step({{&sequence, std::min(chunk, left)}});
      if (HasFatalFailure()) return;
    }
  }

  // What the prompt is answered with when it is alone, in one chunk.
  std::vector<TokenId> answer_alone(std::uint64_t id, const std::vector<TokenId>& tokens, std::size_t count,
                                    const SamplingParams& sampling) {
    DrivenSequence sequence(*executor, id, tokens, sampling);
    EXPECT_TRUE(sequence.open().ok());
    run_alone(sequence, static_cast<std::uint32_t>(tokens.size()), count);
    sequence.close();
    return sequence.generated();
  }

  std::unique_ptr<Executor> executor;
  std::vector<std::uint32_t> next_block;
  std::uint64_t steps = 0;
  std::uint32_t padding_rows = 0;  // of every step
};

TEST_P(ExecutorContract, CapabilitiesAreComplete) {
  const ExecutorCapabilities& caps = executor->capabilities();
  EXPECT_GT(caps.vocab_size, 0U);
  EXPECT_GE(caps.context_tokens, 256U);
  EXPECT_GE(caps.max_sequences, 4U);
  EXPECT_GE(caps.max_step_tokens, 64U);
  EXPECT_GE(caps.depth, 1U);
  ASSERT_FALSE(caps.groups.empty());
  EXPECT_GE(pool_tokens(caps.groups), 512U);
  for (const KvGroupInfo& group : caps.groups) EXPECT_GT(group.block_bytes, 0U);
}

TEST_P(ExecutorContract, TheAnswerDoesNotDependOnChunkSizes) {
  const auto tokens = prompt(33);
  const auto expected = answer_alone(1, tokens, 6, seeded(7));
  for (const std::uint32_t chunk : {1U, 2U, 5U, 16U, 17U, 32U}) {
    next_block.assign(next_block.size(), 0);
    DrivenSequence sequence(*executor, 100 + chunk, tokens, seeded(7));
    ASSERT_TRUE(sequence.open().ok());
    run_alone(sequence, chunk, 6);
    EXPECT_EQ(sequence.generated(), expected) << "chunk " << chunk;
    sequence.close();
  }
}

TEST_P(ExecutorContract, TheAnswerDoesNotDependOnBatchMates) {
  const auto a_tokens = prompt(20, 1);
  const auto b_tokens = prompt(41, 2);
  const auto c_tokens = prompt(7, 3);
  const auto a_alone = answer_alone(1, a_tokens, 8, seeded(11));
  const auto b_alone = answer_alone(2, b_tokens, 5, seeded(12));
  DrivenSequence a(*executor, 11, a_tokens, seeded(11));
  DrivenSequence b(*executor, 12, b_tokens, seeded(12));
  DrivenSequence c(*executor, 13, c_tokens, seeded(13));
  next_block.assign(next_block.size(), 0);
  ASSERT_TRUE(a.open().ok() && b.open().ok() && c.open().ok());
  step({{&a, 20}});
  step({{&a, 1}, {&b, 10}});
  step({{&b, 20}, {&a, 1}, {&c, 7}});
  step({{&c, 1}, {&b, 11}, {&a, 1}});
  for (int i = 0; i < 4; ++i) step({{&a, 1}, {&b, 1}, {&c, 1}});
  EXPECT_EQ(a.generated(), a_alone);
  EXPECT_EQ(b.generated(), b_alone);
}

TEST_P(ExecutorContract, PaddingRowsChangeNoAnswerAndCountAsRows) {
  const auto tokens = prompt(20);
  const auto expected = answer_alone(1, tokens, 6, seeded(7));
  padding_rows = 11;
  next_block.assign(next_block.size(), 0);
  EXPECT_EQ(answer_alone(2, tokens, 6, seeded(7)), expected);
  DrivenSequence sequence(*executor, 3, tokens);
  ASSERT_TRUE(sequence.open().ok());
  sequence.cover(20, next_block);
  const std::vector<BoundEntry> entries = {sequence.rows(20)};
  EXPECT_FALSE(executor->submit({StepId(++steps), entries, executor->capabilities().max_step_tokens}).ok());
}

TEST_P(ExecutorContract, ASharedPrefixGivesTheSameAnswer) {
  const std::uint32_t shared = block_geometry(executor->capabilities().groups).alignment;
  const auto tokens = prompt(shared + 9);
  DrivenSequence first(*executor, 1, tokens, seeded(5));
  DrivenSequence second(*executor, 2, tokens, seeded(5));
  ASSERT_TRUE(first.open().ok() && second.open().ok());
  run_alone(first, shared, 4);
  for (std::size_t g = 0; g < first.tables().size(); ++g) {
    const auto blocks = shared / executor->capabilities().groups[g].block_tokens;
    second.tables()[g].assign(first.tables()[g].begin(), first.tables()[g].begin() + blocks);
  }
  second.set_computed(shared);
  run_alone(second, shared, 4);
  EXPECT_EQ(second.generated(), first.generated());
}

TEST_P(ExecutorContract, ClosingAndOpeningAgainChangesNothing) {
  const auto tokens = prompt(18);
  SamplingParams sampling = seeded(21);
  sampling.repetition_penalty = 1.3F;
  const auto expected = answer_alone(1, tokens, 8, sampling);
  DrivenSequence sequence(*executor, 2, tokens, sampling);
  next_block.assign(next_block.size(), 0);
  ASSERT_TRUE(sequence.open().ok());
  run_alone(sequence, 18, 3);
  // As after a preemption: other blocks, everything computed again, sampler state from what is known.
  sequence.close();
  for (auto& table : sequence.tables()) table.clear();
  sequence.set_computed(0);
  ASSERT_TRUE(sequence.open().ok());
  run_alone(sequence, 7, 8);
  EXPECT_EQ(sequence.generated(), expected);
}

TEST_P(ExecutorContract, FeedingAPositionAgainChangesNothing) {
  const auto tokens = prompt(18);
  const auto expected = answer_alone(1, tokens, 6, seeded(3));
  DrivenSequence sequence(*executor, 2, tokens, seeded(3));
  next_block.assign(next_block.size(), 0);
  ASSERT_TRUE(sequence.open().ok());
  run_alone(sequence, 18, 3);
  sequence.set_computed(4);  // falls back without being closed
  run_alone(sequence, 6, 6);
  EXPECT_EQ(sequence.generated(), expected);
}

TEST_P(ExecutorContract, BlocksMoveByTheirBytes) {
  const auto tokens = prompt(40);
  const auto expected = answer_alone(1, tokens, 5, seeded(9));
  DrivenSequence sequence(*executor, 2, tokens, seeded(9));
  ASSERT_TRUE(sequence.open().ok());
  run_alone(sequence, 40, 2);
  for (std::size_t g = 0; g < sequence.tables().size(); ++g) {
    const GroupId group(static_cast<std::uint32_t>(g));
    std::vector<std::byte> bytes(executor->capabilities().groups[g].block_bytes);
    for (BlockId& block : sequence.tables()[g]) {
      const BlockId elsewhere(next_block[g]++);
      ASSERT_TRUE(executor->read_block(group, block, bytes).ok());
      ASSERT_TRUE(executor->write_block(group, elsewhere, bytes).ok());
      block = elsewhere;
    }
  }
  run_alone(sequence, 40, 5);
  EXPECT_EQ(sequence.generated(), expected);
}

TEST_P(ExecutorContract, WrongBlockAccessIsAnError) {
  const KvGroupInfo& group = executor->capabilities().groups[0];
  std::vector<std::byte> bytes(group.block_bytes);
  std::vector<std::byte> short_bytes(group.block_bytes - 1);
  EXPECT_FALSE(executor->read_block(GroupId(99), BlockId(0), bytes).ok());
  EXPECT_FALSE(executor->read_block(GroupId(0), BlockId(group.block_count), bytes).ok());
  EXPECT_FALSE(executor->read_block(GroupId(0), BlockId(0), short_bytes).ok());
  EXPECT_FALSE(executor->write_block(GroupId(0), BlockId(group.block_count), bytes).ok());
}

TEST_P(ExecutorContract, ASequenceOpensOnce) {
  DrivenSequence sequence(*executor, 1, prompt(4));
  ASSERT_TRUE(sequence.open().ok());
  EXPECT_FALSE(sequence.open().ok());
  sequence.close();
  EXPECT_TRUE(sequence.open().ok());
  executor->close(SequenceId(777));  // one that is not open: nothing happens
}

TEST_P(ExecutorContract, AStepWithAnUnknownSequenceIsRefusedAndTheNextOneRuns) {
  DrivenSequence known(*executor, 1, prompt(4));
  DrivenSequence unknown(*executor, 2, prompt(4));
  ASSERT_TRUE(known.open().ok());
  unknown.cover(4, next_block);
  const std::vector<BoundEntry> entries = {unknown.rows(4)};
  const auto ticket = executor->submit({StepId(++steps), entries});
  ASSERT_FALSE(ticket.ok());
  EXPECT_EQ(ticket.error().code, ErrorCode::kInternal);
  step({{&known, 4}});
  EXPECT_EQ(known.generated().size(), 1U);
}

TEST_P(ExecutorContract, AStepWithATooShortTableIsRefused) {
  DrivenSequence sequence(*executor, 1, prompt(40));
  ASSERT_TRUE(sequence.open().ok());
  sequence.cover(1, next_block);
  const std::vector<BoundEntry> entries = {sequence.rows(40)};
  EXPECT_FALSE(executor->submit({StepId(++steps), entries}).ok());
}

TEST_P(ExecutorContract, LogprobsComeWhenAskedForBestFirst) {
  SamplingParams sampling = seeded(1);
  sampling.top_logprobs = 3;
  DrivenSequence sequence(*executor, 1, prompt(12), sampling);
  ASSERT_TRUE(sequence.open().ok());
  sequence.cover(12, next_block);
  const std::vector<BoundEntry> entries = {sequence.rows(12)};
  const auto ticket = executor->submit({StepId(++steps), entries});
  ASSERT_TRUE(ticket.ok());
  const auto result = executor->collect(ticket.value());
  ASSERT_TRUE(result.ok());
  const SampledToken& sampled = result.value().entries[0].sampled;
  EXPECT_LE(sampled.logprob, 0.0F);
  ASSERT_EQ(sampled.top.size(), 3U);
  EXPECT_GE(sampled.top[0].logprob, sampled.top[1].logprob);
  EXPECT_GE(sampled.top[1].logprob, sampled.top[2].logprob);
}

TEST_P(ExecutorContract, PromptTokensAreScoredRowByRowWhateverTheChunks) {
  const auto tokens = prompt(21);
  const auto score = [&](std::uint64_t id, std::uint32_t chunk) {
    next_block.assign(next_block.size(), 0);
    SamplingParams sampling;
    sampling.top_logprobs = 0;
    DrivenSequence sequence(*executor, id, tokens, sampling);
    EXPECT_TRUE(sequence.open().ok());
    sequence.cover(21, next_block);
    std::vector<PromptLogprob> scored;
    while (sequence.computed() < 21) {
      const auto count = std::min(chunk, 21 - sequence.computed());
      BoundEntry entry = sequence.rows(count);
      std::vector<TokenId> targets(count, -1);
      for (std::uint32_t i = 0; i < count; ++i) {
        if (sequence.computed() + i + 1 < 21) targets[i] = tokens[sequence.computed() + i + 1];
      }
      entry.prompt_targets = targets;
      const std::vector<BoundEntry> entries = {entry};
      const auto ticket = executor->submit({StepId(++steps), entries});
      EXPECT_TRUE(ticket.ok());
      if (!ticket.ok()) return scored;
      auto result = executor->collect(ticket.value());
      EXPECT_TRUE(result.ok());
      if (!result.ok()) return scored;
      for (auto& logprob : result.value().entries[0].prompt_logprobs) scored.push_back(logprob);
      sequence.set_computed(sequence.computed() + count);
    }
    sequence.close();
    return scored;
  };
  const auto whole = score(1, 21);
  const auto pieces = score(2, 4);
  ASSERT_EQ(whole.size(), 20U);
  ASSERT_EQ(pieces.size(), 20U);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_EQ(whole[i].token, tokens[i + 1]);
    EXPECT_EQ(whole[i].logprob, pieces[i].logprob) << "prompt token " << i + 1;
  }
}

TEST_P(ExecutorContract, SuppressedEndTokensAreNotSampled) {
  // Every token that a free run samples is made an end token and suppressed.
  const auto tokens = prompt(10);
  const auto free_run = answer_alone(1, tokens, 1, seeded(2));
  ASSERT_EQ(free_run.size(), 1U);
  DrivenSequence sequence(*executor, 2, tokens, seeded(2));
  ASSERT_TRUE(sequence.open(free_run).ok());
  sequence.cover(10, next_block);
  BoundEntry entry = sequence.rows(10);
  entry.suppress_end_tokens = true;
  const std::vector<BoundEntry> entries = {entry};
  const auto ticket = executor->submit({StepId(++steps), entries});
  ASSERT_TRUE(ticket.ok());
  const auto result = executor->collect(ticket.value());
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result.value().entries[0].outcome, EntryOutcome::kSampled);
  EXPECT_NE(result.value().entries[0].sampled.token, free_run[0]);
}

}  // namespace takt::testing
