#include "exec/cpu/speed_probe.h"

#include <gtest/gtest.h>

#include "exec/cpu/cpu_executor.h"

namespace takt {
namespace {

std::unique_ptr<CpuExecutor> load_tiny(const Clock& clock) {
  CpuExecutorOptions options;
  options.threads = 1;
  options.max_sequences = 4;
  options.max_step_tokens = 32;
  options.kv_blocks = 16;
  auto executor = CpuExecutor::load(TAKT_SOURCE_DIR "/tests/data/tiny.gguf", options, clock);
  return executor ? std::move(*executor) : nullptr;
}

TEST(SpeedProbe, MeasuresDecodeAndPrefillAndLeavesNoSequenceOpen) {
  SteadyClock clock;
  const auto executor = load_tiny(clock);
  ASSERT_TRUE(executor);
  SpeedProbe probe(*executor);
  for (int again = 0; again < 2; ++again) {
    const auto decode = probe.decode({.streams = 4, .context_tokens = 16, .steps = 4}, 2);
    ASSERT_TRUE(decode) << decode.error().message;
    EXPECT_GT(*decode, 0.0);
    const auto prefill = probe.prefill({.tokens = 40, .chunk_tokens = 32}, 2);
    ASSERT_TRUE(prefill) << prefill.error().message;
    EXPECT_GT(*prefill, 0.0);
  }
}

TEST(SpeedProbe, RefusesWhatTheExecutorCannotHold) {
  SteadyClock clock;
  const auto executor = load_tiny(clock);
  ASSERT_TRUE(executor);
  SpeedProbe probe(*executor);
  EXPECT_EQ(probe.decode({.streams = 0}, 1).error().field, "streams");
  EXPECT_EQ(probe.decode({.streams = 5}, 1).error().field, "streams");
  EXPECT_EQ(probe.decode({.streams = 1, .context_tokens = 1U << 30U}, 1).error().field, "tokens");
  EXPECT_EQ(probe.prefill({.tokens = 8, .chunk_tokens = 33}, 1).error().field, "chunk");
  EXPECT_EQ(probe.prefill({.tokens = 8, .chunk_tokens = 0}, 1).error().field, "chunk");
  const auto too_much = probe.decode({.streams = 4, .context_tokens = 100, .steps = 8}, 1);
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().code, ErrorCode::kResourceExhausted) << too_much.error().message;
}

}  // namespace
}  // namespace takt
