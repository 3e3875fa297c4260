// Rule 1 of golden/models: F32 and F16 weights with F32 activations and KV.
#include <gtest/gtest.h>

#include "golden/teacher_forcing.h"

namespace takt {
namespace {

std::string model_test_name(const ::testing::TestParamInfo<const char*>& model) {
  return golden::identifier(model.param);
}

class ExactPath : public ::testing::TestWithParam<const char*> {};

TEST_P(ExactPath, LogprobsAndGreedyTokensEqualTheReference) {
  const auto folder = golden::directory() / "models";
  const auto model = folder / (std::string(GetParam()) + ".gguf");
  TAKT_REQUIRE_GOLDEN(model);
  CpuExecutorOptions options;
  options.kv_type = KvType::kF32;
  options.max_context_tokens = 512;
  options.max_step_tokens = 64;
  auto probe = LogprobProbe::load(model, options);
  ASSERT_TRUE(probe.ok()) << probe.error().message;
  double largest = 0.0;
  for (const golden::Case& c : golden::read_cases(folder / (std::string(GetParam()) + ".jsonl"))) {
    SCOPED_TRACE(c.name);
    std::string error;
    const auto compared = golden::teacher_force(**probe, c, error);
    ASSERT_EQ(error, "");
    for (const golden::Compared& at : compared) {
      largest = std::max(largest, at.next_difference());
      for (std::size_t i = 0; i < at.logprobs.size(); ++i) {
        largest = std::max(largest, std::abs(at.logprobs[i] - at.golden->top_logprobs[i]));
      }
    }
    LogprobQuery greedy;
    greedy.prompt_ids = c.prompt_ids;
    greedy.generate = static_cast<std::uint32_t>(c.greedy_ids.size());
    const auto answer = (*probe)->answer(greedy);
    ASSERT_TRUE(answer.ok()) << answer.error().message;
    for (std::size_t i = 0; i < c.greedy_ids.size() && c.margins[i] > 4e-3; ++i) {
      ASSERT_EQ(answer->greedy_ids[i], c.greedy_ids[i]) << "generated token " << i;
    }
  }
  RecordProperty("largest_difference", std::to_string(largest));
  EXPECT_LE(largest, 2e-3);
}

INSTANTIATE_TEST_SUITE_P(Models, ExactPath,
                         ::testing::Values("llama", "llama3-rope", "llama-linear", "llama-yarn", "mistral", "mixtral",
                                           "quant/llama-F16"),
                         model_test_name);

}  // namespace
}  // namespace takt
