// C3: every logit of every row, to the bit, alone and beside others, in one piece and in many, on every instruction set
// and number of threads. Below sampling, whose logprobs show only the best.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exec/cpu/cpu_runtime.h"
#include "exec/cpu/kv_arena.h"
#include "exec/cpu/step_batch.h"
#include "model/load.h"

namespace takt {
namespace {

constexpr std::uint32_t kLogitTokens = 52;  // of the sequence that is looked at
constexpr std::uint32_t kLogitBlocks = 8;   // of each sequence
constexpr std::uint32_t kMates = 15;
constexpr std::uint32_t kStepRows = 512;

std::vector<TokenId> tokens_of(std::uint32_t number, std::uint32_t count) {
  std::vector<TokenId> tokens;
  for (std::uint32_t i = 0; i < count; ++i)
    tokens.push_back(static_cast<TokenId>((number * 131 + i * 29 + i * i * 7) % 256));
  return tokens;
}

// Bits of all logits, row after row.
using LogitBits = std::vector<std::uint32_t>;

class LogitMachine {
 public:
  LogitMachine(const std::string& isa, int threads) {
    CpuExecutorOptions options;
    options.isa = isa;
    options.threads = threads;
    auto runtime = make_cpu_runtime(options);
    EXPECT_TRUE(runtime.ok());
    runtime_ = std::make_unique<CpuRuntime>(std::move(*runtime));
    auto model = load_model(TAKT_SOURCE_DIR "/tests/data/tiny.gguf", *runtime_->pool);
    EXPECT_TRUE(model.ok());
    model_ = std::move(*model);
    auto arena = KvArena::create(model_.decoder->kv_layout(KvType::kF16, 16), kLogitBlocks * (kMates + 1));
    EXPECT_TRUE(arena.ok());
    arena_ = std::make_unique<KvArena>(std::move(*arena));
    EXPECT_TRUE(
        workspace_.reserve(model_.decoder->workspace_shape(), {.rows = kStepRows, .logit_rows = kStepRows}).ok());
  }

  // A part of a sequence to compute.
  struct Piece {
    std::uint32_t sequence = 0;  // 0: the one that is looked at
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  // One step; what it gives for the rows of the first sequence.
  LogitBits step(const std::vector<Piece>& pieces) {
    std::vector<std::vector<TokenId>> tokens;
    std::vector<std::vector<BlockId>> tables;
    for (const Piece& piece : pieces) {
      tokens.push_back(tokens_of(piece.sequence, piece.first + piece.count));
      tables.emplace_back();
      for (std::uint32_t i = 0; i < kLogitBlocks; ++i) tables.back().emplace_back(piece.sequence * kLogitBlocks + i);
    }
    const std::vector<std::span<const BlockId>> spans(tables.begin(), tables.end());
    std::vector<BoundEntry> entries;
    std::vector<std::uint32_t> wanted;
    std::uint32_t row = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      BoundEntry entry;
      entry.sequence = SequenceId(pieces[i].sequence + 1);
      entry.first_position = pieces[i].first;
      entry.tokens = std::span(tokens[i]).subspan(pieces[i].first);
      entry.tables = {&spans[i], 1};
      entries.push_back(entry);
      for (std::uint32_t r = 0; r < pieces[i].count; ++r, ++row) {
        if (pieces[i].sequence == 0) wanted.push_back(row);
      }
    }
    return logits(entries, wanted);
  }

 private:
  LogitBits logits(const std::vector<BoundEntry>& entries, const std::vector<std::uint32_t>& wanted) {
    const std::uint32_t vocabulary = model_.decoder->hyperparameters().vocabulary;
    const KvBlocks& cache = arena_->cache();
    const StepLimits limits{vocabulary, 16 * kLogitBlocks, kStepRows, cache.block_count, 16};
    EXPECT_TRUE(batch_.assign({StepId(1), entries}, limits).ok());
    const Compute compute = runtime_->compute();
    EXPECT_TRUE(model_.decoder->forward(compute, batch_.rows(), cache, workspace_).ok());
    std::vector<float> out(std::size_t{vocabulary} * wanted.size());
    if (wanted.empty()) return {};
    const MatrixView view{out.data(), wanted.size(), vocabulary, vocabulary};
    EXPECT_TRUE(model_.decoder->logits(compute, wanted, workspace_, {view, {}}).ok());
    LogitBits bits(out.size());
    std::transform(out.begin(), out.end(), bits.begin(),
                   [](float value) { return std::bit_cast<std::uint32_t>(value); });
    return bits;
  }

  std::unique_ptr<CpuRuntime> runtime_;
  LoadedModel model_;
  std::unique_ptr<KvArena> arena_;
  DecoderWorkspace workspace_;
  StepBatch batch_;
};

LogitBits in_chunks(LogitMachine& machine, std::uint32_t chunk) {
  LogitBits all;
  for (std::uint32_t first = 0; first < kLogitTokens; first += chunk) {
    const LogitBits part = machine.step({{0, first, std::min(chunk, kLogitTokens - first)}});
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

// Mates before and behind it, with pieces of other sizes, from other positions.
LogitBits beside_mates(LogitMachine& machine, std::uint32_t chunk) {
  LogitBits all;
  std::vector<std::uint32_t> computed(kMates + 1, 0);
  for (std::uint32_t first = 0; first < kLogitTokens; first += chunk) {
    std::vector<LogitMachine::Piece> pieces;
    for (std::uint32_t i = 0; i <= kMates; ++i) {
      const std::uint32_t sequence = (i + 8) % (kMates + 1);
      if (sequence == 0) {
        pieces.push_back({0, first, std::min(chunk, kLogitTokens - first)});
        continue;
      }
      const std::uint32_t count = std::min(1 + sequence * 5 % 17, 16 * kLogitBlocks - computed[sequence]);
      if (count == 0) continue;
      pieces.push_back({sequence, computed[sequence], count});
      computed[sequence] += count;
    }
    const LogitBits part = machine.step(pieces);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST(SameLogits, EveryLogitOfEveryRowHasTheSameBitsHoweverItIsComputed) {
  LogitBits expected;
  for (const Isa isa : isa_built()) {
    if (!isa_available(isa)) continue;
    for (const int threads : {1, 2}) {
      const std::string name(isa_name(isa));
      LogitMachine machine(name, threads);
      const std::string where = name + ", " + std::to_string(threads) + " threads";
      const LogitBits whole = in_chunks(machine, kLogitTokens);
      if (expected.empty()) expected = whole;
      ASSERT_GT(expected.size(), std::size_t{kLogitTokens} * 256);
      EXPECT_TRUE(whole == expected) << where;
      for (const std::uint32_t chunk : {1U, 13U}) {
        EXPECT_TRUE(in_chunks(machine, chunk) == expected) << where << ", chunks of " << chunk;
        EXPECT_TRUE(beside_mates(machine, chunk) == expected) << where << ", beside mates, chunks of " << chunk;
      }
    }
  }
}

}  // namespace
}  // namespace takt
