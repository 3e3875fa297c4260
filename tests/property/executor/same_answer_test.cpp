// Promise 2 (C1, C2, C3, C4, B11): the tokens and logprobs of a request depend on the request alone, to the bit.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <tuple>

#include "exec/cpu/cpu_executor.h"

namespace takt {
namespace {

constexpr std::uint32_t kPrompt = 77;
constexpr std::uint32_t kAnswer = 12;
constexpr std::uint32_t kBlocksPerSequence = 8;

struct Machine {
  const char* isa = "";
  int threads = 2;
  bool repack = true;
};

constexpr const char* kTinyModel = TAKT_SOURCE_DIR "/tests/data/tiny.gguf";

class Requests : public ::testing::Test {
 protected:
  std::unique_ptr<CpuExecutor> make(const Machine& machine, const std::string& model = kTinyModel) {
    CpuExecutorOptions options;
    options.isa = machine.isa;
    options.threads = machine.threads;
    options.kv_type = kv_type_;
    options.repack = machine.repack;
    options.kv_blocks = 64 * kBlocksPerSequence;
    options.max_step_tokens = 2048;
    auto executor = CpuExecutor::load(model, options, clock_);
    EXPECT_TRUE(executor.ok()) << (executor.ok() ? "" : executor.error().message);
    return executor.ok() ? std::move(*executor) : nullptr;
  }

  KvType kv_type_ = KvType::kF16;

 private:
  SteadyClock clock_;
};

// What a client sees: tokens, and the bits of every logprob.
struct Answer {
  std::vector<TokenId> tokens;
  std::vector<std::uint32_t> bits;
  bool operator==(const Answer&) const = default;

  void take(const SampledToken& sampled) {
    tokens.push_back(sampled.token);
    bits.push_back(std::bit_cast<std::uint32_t>(sampled.logprob));
    for (const TokenLogprob& top : sampled.top) {
      bits.push_back(static_cast<std::uint32_t>(top.token));
      bits.push_back(std::bit_cast<std::uint32_t>(top.logprob));
    }
  }
};

class Sequence {
 public:
  Sequence(std::uint64_t id, std::uint64_t seed, std::uint32_t prompt, std::uint32_t first_block, bool greedy) {
    spec_.id = SequenceId(id);
    spec_.sampling.seed = seed;
    spec_.sampling.temperature = greedy ? 0.0F : 0.9F;
    spec_.sampling.top_p = 0.95F;
    spec_.sampling.repetition_penalty = 1.1F;
    spec_.sampling.top_logprobs = 20;
    for (std::uint32_t i = 0; i < prompt; ++i) {
      spec_.known_tokens.push_back(static_cast<TokenId>((seed * 131 + i * 29 + i * i * 7) % 256));
    }
    spec_.prompt_tokens = prompt;
    for (std::uint32_t i = 0; i < kBlocksPerSequence; ++i) table_.emplace_back(first_block + i);
    table_span_ = table_;
  }

  SequenceSpec spec() const { return spec_; }
  SequenceId id() const { return spec_.id; }
  std::vector<BlockId>& table() { return table_; }
  bool done() const { return answer.tokens.size() >= kAnswer; }
  void fall_back(std::uint32_t computed) { computed_ = computed; }

  // Up to `chunk` of the tokens that are not computed yet.
  BoundEntry entry(std::uint32_t chunk) {
    scheduled_ = std::min<std::uint32_t>(chunk, static_cast<std::uint32_t>(spec_.known_tokens.size()) - computed_);
    BoundEntry entry;
    entry.sequence = spec_.id;
    entry.first_position = computed_;
    entry.tokens = std::span(spec_.known_tokens).subspan(computed_, scheduled_);
    entry.tables = {&table_span_, 1};
    entry.samples = computed_ + scheduled_ == spec_.known_tokens.size();
    return entry;
  }
  void take(const EntryResult& result) {
    ASSERT_NE(result.outcome, EntryOutcome::kFailed) << result.error.message;
    computed_ += scheduled_;
    if (result.outcome != EntryOutcome::kSampled) return;
    spec_.known_tokens.push_back(result.sampled.token);
    answer.take(result.sampled);
  }

  Answer answer;

 private:
  SequenceSpec spec_;
  std::vector<BlockId> table_;
  std::span<const BlockId> table_span_;
  std::uint32_t computed_ = 0;
  std::uint32_t scheduled_ = 0;
};

void step(Executor& executor, const std::vector<std::pair<Sequence*, std::uint32_t>>& work) {
  std::vector<BoundEntry> entries;
  for (const auto& [sequence, chunk] : work) entries.push_back(sequence->entry(chunk));
  const auto ticket = executor.submit({StepId(1), entries});
  ASSERT_TRUE(ticket.ok()) << ticket.error().message;
  const auto result = executor.collect(*ticket);
  ASSERT_TRUE(result.ok()) << result.error().message;
  for (std::size_t i = 0; i < work.size(); ++i) work[i].first->take(result->entries[i]);
}

Answer run_alone(Executor& executor, Sequence sequence, std::uint32_t chunk) {
  EXPECT_TRUE(executor.open(sequence.spec()).ok());
  while (!sequence.done() && !::testing::Test::HasFatalFailure()) step(executor, {{&sequence, chunk}});
  executor.close(sequence.id());
  return sequence.answer;
}

Sequence probe(bool greedy, std::uint32_t first_block = 0) {
  return {1000, 42, kPrompt, first_block, greedy};
}

class SameAnswer : public Requests, public ::testing::WithParamInterface<std::tuple<bool, KvType>> {
 protected:
  SameAnswer() { kv_type_ = std::get<1>(GetParam()); }
  static bool greedy() { return std::get<0>(GetParam()); }
};

TEST_P(SameAnswer, WithEveryChunkSize) {
  const auto executor = make({});
  ASSERT_NE(executor, nullptr);
  const Answer expected = run_alone(*executor, probe(greedy()), kPrompt);
  ASSERT_EQ(expected.tokens.size(), kAnswer);
  for (std::uint32_t chunk = 1; chunk <= 64; ++chunk) {
    ASSERT_EQ(run_alone(*executor, probe(greedy()), chunk), expected) << "chunk " << chunk;
  }
}

// The answer of the probe when it runs beside `mates`, which join at different steps with their prompts in chunks of
// different sizes.
Answer run_beside(Executor& executor, std::uint32_t mates, Sequence probe) {
  std::vector<Sequence> all;
  for (std::uint32_t i = 0; i < mates; ++i) {
    all.emplace_back(i + 1, i * 3 + 1, 5 + i % 15 * 6, (i + 1) * kBlocksPerSequence, i % 2 == 0);
  }
  all.push_back(std::move(probe));
  for (const Sequence& sequence : all) EXPECT_TRUE(executor.open(sequence.spec()).ok());
  for (std::uint32_t round = 0; !all.back().done() && !::testing::Test::HasFatalFailure(); ++round) {
    std::vector<std::pair<Sequence*, std::uint32_t>> work;
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      const bool is_mate = i < mates;
      if (is_mate && (round < i % 5 || all[i].done())) continue;
      work.emplace_back(&all[i], is_mate ? 3 + i % 15 * 2 : 10 + round * 7);
    }
    step(executor, work);
  }
  for (const Sequence& sequence : all) executor.close(sequence.id());
  return all.back().answer;
}

TEST_P(SameAnswer, BesideFifteenMates) {
  const auto executor = make({});
  ASSERT_NE(executor, nullptr);
  const Answer expected = run_alone(*executor, probe(greedy()), kPrompt);
  EXPECT_EQ(run_beside(*executor, 15, probe(greedy())), expected);
}

TEST_P(SameAnswer, WithEverySeatTaken) {
  const auto executor = make({});
  ASSERT_NE(executor, nullptr);
  const std::uint32_t seats = CpuExecutorOptions{}.max_sequences;
  const Answer expected = run_alone(*executor, probe(greedy()), kPrompt);
  EXPECT_EQ(run_beside(*executor, seats - 1, probe(greedy())), expected);
}

TEST_P(SameAnswer, WithAReusedPrefix) {
  const auto executor = make({});
  ASSERT_NE(executor, nullptr);
  const Answer expected = run_alone(*executor, probe(greedy()), kPrompt);  // blocks 0 to 7 now hold its prompt
  for (const std::uint32_t blocks : {1U, 2U, 4U}) {
    Sequence sequence = probe(greedy(), 100);
    for (std::uint32_t i = 0; i < blocks; ++i) sequence.table()[i] = BlockId(i);
    sequence.fall_back(blocks * 16);
    EXPECT_EQ(run_alone(*executor, std::move(sequence), 64), expected) << blocks << " shared blocks";
  }
}

TEST_P(SameAnswer, AfterItsTailWasDroppedAndComputedAgain) {
  const auto executor = make({});
  ASSERT_NE(executor, nullptr);
  const Answer expected = run_alone(*executor, probe(greedy()), kPrompt);
  for (const std::uint32_t keep : {0U, 16U, 64U}) {
    Sequence sequence = probe(greedy());
    ASSERT_TRUE(executor->open(sequence.spec()).ok());
    while (sequence.answer.tokens.size() < 5) step(*executor, {{&sequence, 32}});
    executor->close(sequence.id());
    for (std::size_t i = keep / 16; i < sequence.table().size(); ++i)
      sequence.table()[i] = BlockId(static_cast<std::uint32_t>(200 + i));
    sequence.fall_back(keep);
    ASSERT_TRUE(executor->open(sequence.spec()).ok());
    while (!sequence.done()) step(*executor, {{&sequence, 25}});
    executor->close(sequence.id());
    EXPECT_EQ(sequence.answer, expected) << "kept " << keep;
  }
}

TEST_P(SameAnswer, OnEveryInstructionSetAndNumberOfThreads) {
  std::vector<Answer> answers;
  for (const Isa isa : isa_built()) {
    if (!isa_available(isa)) continue;
    for (const int threads : {1, 2, 3}) {
      const std::string name(isa_name(isa));
      const auto executor = make({name.c_str(), threads});
      ASSERT_NE(executor, nullptr);
      answers.push_back(run_alone(*executor, probe(greedy()), 40));
    }
  }
  for (const Answer& answer : answers) EXPECT_EQ(answer, answers.front());
}

TEST_P(SameAnswer, WithWeightsThatStayInTheFile) {
  const Answer expected = run_alone(*make({}), probe(greedy()), kPrompt);
  const auto executor = make({.repack = false});
  ASSERT_NE(executor, nullptr);
  EXPECT_EQ(run_alone(*executor, probe(greedy()), kPrompt), expected);
  EXPECT_EQ(run_beside(*executor, 15, probe(greedy())), expected);
}

// The tiny model with rope scaling from 32 positions on: entries that fill whole alignment units are put in before the
// others, so its tensors stay aligned.
std::string with_rope_scaling(const std::string& type) {
  std::ifstream file(kTinyModel, std::ios::binary);
  std::string model((std::istreambuf_iterator<char>(file)), {});
  const auto number = [](auto value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  };
  const auto text = [&](const std::string& value) { return number(std::uint64_t{value.size()}) + value; };
  constexpr std::uint32_t kUint32 = 4;
  constexpr std::uint32_t kFloat32 = 6;
  constexpr std::uint32_t kString = 8;
  std::string entries = text("llama.rope.scaling.type") + number(kString) + text(type) +
                        text("llama.rope.scaling.factor") + number(kFloat32) + number(8.0F) +
                        text("llama.rope.scaling.original_context_length") + number(kUint32) +
                        number(std::uint32_t{32}) + text("padding") + number(kString);
  entries += text(std::string(32 - (entries.size() + sizeof(std::uint64_t)) % 32, '.'));
  constexpr std::size_t kCountAt = 16;
  constexpr std::size_t kHeader = 24;
  std::uint64_t count = 0;
  std::memcpy(&count, model.data() + kCountAt, sizeof count);
  model.replace(kCountAt, sizeof count, number(count + 4));
  return model.insert(kHeader, entries);
}

// C5: rope is scaled by the model alone: a sequence beyond the original context changes nothing for a short one in the
// same step, nor the other way round.
TEST_P(SameAnswer, OfShortAndLongSequencesOfAScaledModelInOneStep) {
  const Answer unscaled = run_alone(*make({}), probe(greedy()), kPrompt);
  for (const std::string type : {"linear", "yarn"}) {
    const auto path =
        std::filesystem::path(::testing::TempDir()) / ("takt-scaled-" + type + std::to_string(::getpid()) + ".gguf");
    std::ofstream(path, std::ios::binary) << with_rope_scaling(type);
    const auto executor = make({}, path.string());
    std::filesystem::remove(path);
    ASSERT_NE(executor, nullptr);
    const auto sequence = [&](std::uint32_t prompt, std::uint32_t first_block) {
      return Sequence(first_block + 1, 42, prompt, first_block, greedy());
    };
    Sequence together[] = {sequence(9, 0), sequence(kPrompt, kBlocksPerSequence), sequence(20, 2 * kBlocksPerSequence)};
    Answer alone[3];
    for (std::size_t i = 0; i < 3; ++i) alone[i] = run_alone(*executor, together[i], kPrompt);
    EXPECT_NE(alone[1], unscaled) << type;
    for (const Sequence& s : together) ASSERT_TRUE(executor->open(s.spec()).ok());
    while (std::any_of(std::begin(together), std::end(together), [](const Sequence& s) { return !s.done(); })) {
      std::vector<std::pair<Sequence*, std::uint32_t>> work;
      for (Sequence& s : together) {
        if (!s.done()) work.emplace_back(&s, 7);
      }
      step(*executor, work);
      ASSERT_FALSE(HasFatalFailure());
    }
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(together[i].answer, alone[i]) << type << ", sequence " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Requests, SameAnswer,
                         ::testing::Combine(::testing::Bool(), ::testing::Values(KvType::kF16, KvType::kQ8_0)),
                         [](const auto& tested) {
                           const std::string choice = std::get<0>(tested.param) ? "greedy" : "seeded";
                           return choice + "_with_kv_" + std::string(kv_type_name(std::get<1>(tested.param)));
                         });

}  // namespace
}  // namespace takt
