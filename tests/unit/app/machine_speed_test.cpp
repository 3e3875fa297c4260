#include "machine_speed.h"

#include <gtest/gtest.h>

#include "inspect_report.h"

namespace takt::app {
namespace {

constexpr const char* kTinyModel = TAKT_SOURCE_DIR "/tests/data/tiny.gguf";

TEST(MachineSpeed, SharesFollowFromWhatAStepReadsAndMultiplies) {
  MachineSpeed speed;
  speed.peaks = {1000.0, {500.0, 0.0}};
  speed.work.bytes = 100;
  speed.work.layer_elements = 40;
  speed.work.output_elements = 20;
  speed.prompt_tokens = 10;
  speed.prompt_tokens_per_second = 5.0;
  EXPECT_DOUBLE_EQ(speed.bandwidth_share({2, 8.0}), 0.4);
  EXPECT_DOUBLE_EQ(speed.multiply_share({2, 4.0}), 0.48);
  EXPECT_DOUBLE_EQ(speed.prompt_multiply_share(), 0.42);
  speed.peaks = {};
  EXPECT_EQ(speed.bandwidth_share({2, 8.0}), 0.0);
  EXPECT_EQ(speed.multiply_share({2, 4.0}), 0.0);
  EXPECT_EQ(speed.prompt_multiply_share(), 0.0);
}

TEST(MachineSpeed, ComputesWithTheModelAsFarAsItsLimitsGo) {
  CpuExecutorOptions options;
  options.threads = 1;
  options.max_sequences = 4;
  options.max_step_tokens = 64;
  const auto inspection = inspect_model(kTinyModel, options, false);
  ASSERT_TRUE(inspection);
  const auto speed = measure_machine_speed(kTinyModel, inspection->file, options);
  ASSERT_TRUE(speed) << speed.error().message;
  ASSERT_EQ(speed->decode.size(), 2U);
  EXPECT_EQ(speed->decode.back().streams, 4U);
  for (const auto& at : speed->decode) EXPECT_GT(at.tokens_per_second, 0.0);
  EXPECT_GT(speed->prompt_tokens_per_second, 0.0);
  EXPECT_EQ(speed->threads, 1);
  // 286 tokens of width 64 make the logits.
  EXPECT_EQ(speed->work.output_elements, 286U * 64U);
}

}  // namespace
}  // namespace takt::app
