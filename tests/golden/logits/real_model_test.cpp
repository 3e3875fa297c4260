// golden/logits: a real model with the settings that users have (F16 KV, quantised activations) beside exact arithmetic
// on the file's own weights.
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <cstdio>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exec/cpu/cpu_executor.h"
#include "golden/teacher_forcing.h"

namespace takt {
namespace {

std::filesystem::path default_model() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::filesystem::path folder = cache != nullptr && *cache != '\0'
                                           ? std::filesystem::path(cache)
                                           : std::filesystem::path(home != nullptr ? home : "/") / ".cache";
  return folder / "takt" / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf";
}

std::string sha256_of(const std::filesystem::path& path) {
  const std::string bytes = golden::read_file(path);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest, &length, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < length; ++i) {
    char pair[3];
    std::snprintf(pair, sizeof pair, "%02x", digest[i]);
    hex += pair;
  }
  return hex;
}

// Means over every `stride`th case.
golden::Closeness measure_real_model(KvType kv_type, std::size_t stride) {
  CpuExecutorOptions options;
  options.kv_type = kv_type;
  options.max_context_tokens = 2048;
  options.max_step_tokens = 512;
  auto probe = LogprobProbe::load(default_model(), options);
  EXPECT_TRUE(probe.ok()) << (probe.ok() ? "" : probe.error().message);
  golden::Closeness sum;
  if (!probe) return sum;
  const auto cases = golden::read_cases(golden::directory() / "logits" / "smollm2-Q4_1.jsonl");
  for (std::size_t i = 0; i < cases.size(); i += stride) {
    std::string error;
    for (const auto& at : golden::teacher_force(**probe, cases[i], error)) sum.add(at);
    EXPECT_EQ(error, "") << cases[i].name;
  }
  return sum.means();
}

TEST(RealModel, SmolLm2IsAsCloseToItsOwnWeightsAsTheTableSays) {
  const auto model = default_model();
  const auto folder = golden::directory() / "logits";
  TAKT_REQUIRE_GOLDEN(model);
  TAKT_REQUIRE_GOLDEN(folder / "smollm2-Q4_1.jsonl");
  ASSERT_EQ(sha256_of(model), "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53") << model;
  const golden::Closeness ours = measure_real_model(KvType::kF16, 1);
  const auto closeness = boost::json::parse(golden::read_file(folder / "closeness.json"));
  const auto table = [&](const char* name) {
    return closeness.at("smollm2-Q4_1").at("all").at(name).to_number<double>();
  };
  std::printf(
      "%zu positions: mean KL16 %.3e (table %.3e), top-1 %.4f (%.4f), clear %.4f (%.4f), mean |dlp| %.3e (%.3e), max "
      "KL16 %.3e (%.3e)\n",
      ours.positions, ours.kl, table("mean_kl16"), ours.agreement, table("top1_agree"), ours.clear_agreement,
      table("top1_agree_margin_over_0.1"), ours.next_difference, table("mean_abs_dlogprob"), ours.largest_kl,
      table("max_kl16"));
  EXPECT_EQ(ours.positions, table("positions"));
  EXPECT_LE(ours.kl, table("mean_kl16") * 1.05);
  EXPECT_LE(ours.largest_kl, table("max_kl16") * 2.0);
  EXPECT_LE(ours.next_difference, table("mean_abs_dlogprob") * 1.05);
  EXPECT_GE(ours.agreement, table("top1_agree") - 0.01);
  EXPECT_GE(ours.clear_agreement, table("top1_agree_margin_over_0.1") - 0.01);
}

// Over all cases int8 keys and values make the divergence a sixth larger (docs/numerics.md).
TEST(RealModel, SmolLm2WithInt8KeysAndValuesIsNearlyAsCloseAsWithHalfFloats) {
  TAKT_REQUIRE_GOLDEN(default_model());
  TAKT_REQUIRE_GOLDEN(golden::directory() / "logits" / "smollm2-Q4_1.jsonl");
  constexpr std::size_t kStride = 10;
  const golden::Closeness halves = measure_real_model(KvType::kF16, kStride);
  const golden::Closeness int8 = measure_real_model(KvType::kQ8_0, kStride);
  std::printf("%zu positions: mean KL16 %.3e, with half floats %.3e; top-1 %.4f, %.4f\n", int8.positions, int8.kl,
              halves.kl, int8.agreement, halves.agreement);
  EXPECT_GT(int8.positions, 0U);
  EXPECT_LE(int8.kl, halves.kl * 1.5);
  EXPECT_LE(int8.next_difference, halves.next_difference * 1.2);
  EXPECT_GE(int8.clear_agreement, halves.clear_agreement - 0.02);
}

std::size_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word && word != "VmHWM:") {
  }
  std::size_t kib = 0;
  status >> kib;
  return kib * 1024;
}

// F5: one logit per row and entry of the vocabulary would be 201 MB here.
TEST(RealModel, LogprobsOfALongPromptTakeAFewRowsOfLogits) {
  TAKT_REQUIRE_GOLDEN(default_model());
  constexpr std::uint32_t kRows = 1024;
  SteadyClock clock;
  CpuExecutorOptions options;
  options.max_context_tokens = options.max_step_tokens = kRows;
  options.max_sequences = 1;
  const auto executor = CpuExecutor::load(default_model(), options, clock);
  ASSERT_TRUE(executor.ok()) << executor.error().message;
  SequenceSpec spec;
  spec.id = SequenceId(1);
  ASSERT_TRUE((*executor)->open(std::move(spec)).ok());
  std::vector<TokenId> tokens(kRows);
  std::vector<BlockId> table;
  for (std::uint32_t i = 0; i < kRows; ++i) tokens[i] = static_cast<TokenId>(i * 37 % 40000);
  for (std::uint32_t i = 0; i < kRows / options.block_tokens; ++i) table.emplace_back(i);
  const std::span<const BlockId> tables[] = {table};
  BoundEntry entry;
  entry.sequence = SequenceId(1);
  entry.tokens = tokens;
  entry.tables = tables;
  const auto peak_after = [&](std::span<const TokenId> targets) {
    entry.prompt_targets = targets;
    const auto ticket = (*executor)->submit({StepId(1), {&entry, 1}});
    EXPECT_TRUE(ticket.ok());
    const auto result = (*executor)->collect(*ticket);
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result->entries[0].prompt_logprobs.size(), targets.size());
    return peak_resident_bytes();
  };
  const std::size_t without = peak_after({});
  EXPECT_LT(peak_after(tokens) - without, std::size_t{30} << 20U);
}

}  // namespace
}  // namespace takt
