// Rule 2 of golden/models: F16 KV and quantised activations, at least as close to the reference as llama.cpp's default
// settings.
#include <gtest/gtest.h>

#include "golden/teacher_forcing.h"

namespace takt {
namespace {

std::string model_test_name(const ::testing::TestParamInfo<const char*>& model) {
  return golden::identifier(model.param);
}

class DefaultPath : public ::testing::TestWithParam<const char*> {};

TEST_P(DefaultPath, IsAtLeastAsCloseToTheReferenceAsTheTableSays) {
  const auto folder = golden::directory() / "models";
  const std::string name = GetParam();
  const auto model = folder / (name + ".gguf");
  TAKT_REQUIRE_GOLDEN(model);
  const auto closeness = boost::json::parse(golden::read_file(folder / "closeness.json"));
  const auto& table = closeness.at(name).at("default");
  CpuExecutorOptions options;
  options.kv_precision = KvPrecision::kF32;
  options.max_context_tokens = 512;
  auto probe = LogprobProbe::load(model, options);
  ASSERT_TRUE(probe.ok()) << probe.error().message;
  golden::Closeness sum;
  for (const golden::Case& c : golden::read_cases(folder / (name + ".jsonl"))) {
    std::string error;
    for (const auto& at : golden::teacher_force(**probe, c, error)) sum.add(at);
    ASSERT_EQ(error, "") << c.name;
  }
  const golden::Closeness ours = sum.means();
  std::printf("%-20s mean KL16 %.2e (table %.2e), top-1 %.4f (%.4f), mean |dlp| %.2e (%.2e)\n", name.c_str(), ours.kl,
              table.at("mean_kl16").to_number<double>(), ours.agreement, table.at("top1").to_number<double>(),
              ours.next_difference, table.at("mean_dlp").to_number<double>());
  // The means of one model spread by about 5 % and the agreement by a point between equally good implementations
  // (golden/logits, README).
  EXPECT_LE(ours.kl, table.at("mean_kl16").to_number<double>() * 1.05);
  EXPECT_LE(ours.next_difference, table.at("mean_dlp").to_number<double>() * 1.10);
  EXPECT_GE(ours.agreement, table.at("top1").to_number<double>() - 0.01);
}

INSTANTIATE_TEST_SUITE_P(Models, DefaultPath,
                         ::testing::Values("llama", "llama3-rope", "llama-linear", "llama-yarn", "mistral", "mixtral",
                                           "quant/llama-F16", "quant/llama-BF16", "quant/llama-Q8_0",
                                           "quant/llama-Q4_0", "quant/llama-Q4_1", "quant/llama-Q5_0",
                                           "quant/llama-Q5_1", "quant/llama-Q2_K", "quant/llama-Q3_K_M",
                                           "quant/llama-Q4_K_M", "quant/llama-Q5_K_M", "quant/llama-Q6_K",
                                           "quant/llama-IQ4_NL", "quant/llama-IQ4_XS"),
                         model_test_name);

}  // namespace
}  // namespace takt
