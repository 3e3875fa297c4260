#include "exec/cpu/memory_plan.h"

#include <gtest/gtest.h>

#include "model/load.h"

namespace takt {
namespace {

constexpr std::size_t kGiB = std::size_t{1} << 30U;

class MemoryPlanTest : public ::testing::Test {
 protected:
  MemoryPlanTest()
      : file_(GgufFile::open(TAKT_SOURCE_DIR "/tests/data/tiny.gguf")), model_(plan_model(*file_, "tiny")) {}
  Result<MemoryPlan> plan(std::size_t free_bytes, const CpuExecutorOptions& options = {}) {
    return plan_memory(*model_->decoder, model_->weight_bytes, true, free_bytes, options);
  }

  Result<GgufFile> file_;
  Result<LoadedModel> model_;
};

TEST_F(MemoryPlanTest, NeverTakesMoreThanAllSeatsCanUse) {
  const auto plan_of_all = plan(64 * kGiB);
  ASSERT_TRUE(plan_of_all.ok());
  EXPECT_EQ(plan_of_all->kv_blocks, 2048U / 16 * 64);
  EXPECT_EQ(plan_of_all->conversations(1024), 128U);
  EXPECT_EQ(plan_of_all->conversations(1025), plan_of_all->kv_blocks / 65);
}

TEST_F(MemoryPlanTest, TakesItsShareOfWhatIsLeftAfterWeightsAndWorkspace) {
  const auto all = plan(64 * kGiB);
  CpuExecutorOptions options;
  options.memory_share = 0.5;
  const std::size_t left = 1000 * all->kv_block_bytes;
  const auto half = plan(all->weight_bytes + all->workspace_bytes + left, options);
  ASSERT_TRUE(half.ok());
  EXPECT_EQ(half->kv_blocks, 500U);
}

TEST_F(MemoryPlanTest, CountsAndBytesAreHardCaps) {
  CpuExecutorOptions options;
  options.kv_blocks = 7;
  EXPECT_EQ(plan(kGiB, options)->kv_blocks, 7U);
  options.kv_blocks = 0;
  options.kv_bytes = 10 * plan(kGiB)->kv_block_bytes + 1;
  EXPECT_EQ(plan(kGiB, options)->kv_blocks, 10U);
}

TEST_F(MemoryPlanTest, ASmallerKvTypeGivesMoreBlocksForTheSameMemory) {
  CpuExecutorOptions options;
  options.kv_bytes = std::size_t{1} << 20U;
  const auto blocks = [&](KvType type) {
    options.kv_type = type;
    return plan(kGiB, options)->kv_blocks;
  };
  // Heads of 16: 16 bytes and a scale of two.
  EXPECT_EQ(blocks(KvType::kF16), blocks(KvType::kF32) * 2);
  EXPECT_EQ(blocks(KvType::kQ8_0), blocks(KvType::kF16) * 32 / 18);
}

// B9: no memory is an error value.
TEST_F(MemoryPlanTest, TooLittleMemoryIsAnErrorWithTheNumbers) {
  const auto refused = plan(1000);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(refused.error().message.find("bytes"), std::string::npos);
  CpuExecutorOptions options;
  options.kv_blocks = 1U << 24U;
  EXPECT_FALSE(plan(kGiB / 1024, options).ok());
}

TEST_F(MemoryPlanTest, OptionsOutOfRangeAreNamed) {
  CpuExecutorOptions options;
  options.block_tokens = 17;
  EXPECT_EQ(plan(kGiB, options).error().field, "kv.block_tokens");
  options = {};
  options.max_sequences = 0;
  EXPECT_EQ(plan(kGiB, options).error().field, "max_sequences");
  options = {};
  options.memory_share = 0.0;
  EXPECT_EQ(plan(kGiB, options).error().field, "memory_share");
}

}  // namespace
}  // namespace takt
