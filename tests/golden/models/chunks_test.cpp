// Rule 4 of golden/models: the same logits, to the bit, when the prompt comes in pieces of any size, across block
// edges.
#include <gtest/gtest.h>

#include <bit>

#include "golden/teacher_forcing.h"

namespace takt {
namespace {

std::vector<std::uint32_t> bits_of(const LogprobAnswer& answer) {
  std::vector<std::uint32_t> bits;
  for (const PositionLogprobs& at : answer.positions) {
    for (const TokenId id : at.top_ids) bits.push_back(static_cast<std::uint32_t>(id));
    for (const float logprob : at.top_logprobs) bits.push_back(std::bit_cast<std::uint32_t>(logprob));
  }
  return bits;
}

TEST(Chunks, PiecesOfAnySizeGiveTheSameBits) {
  const auto folder = golden::directory() / "models";
  TAKT_REQUIRE_GOLDEN(folder / "llama.gguf");
  for (const std::string name : {"llama", "llama3-rope", "llama-yarn", "mistral", "mixtral", "quant/llama-Q4_0",
                                 "quant/llama-Q4_K_M", "quant/llama-Q8_0", "quant/llama-IQ4_XS"}) {
    SCOPED_TRACE(name);
    const auto cases = golden::read_cases(folder / (name + ".jsonl"));
    std::vector<std::vector<std::uint32_t>> expected;
    for (const std::uint32_t chunk : {512U, 1U, 7U, 16U, 63U}) {
      CpuExecutorOptions options;
      options.max_context_tokens = 512;
      options.max_step_tokens = chunk;
      options.block_tokens = chunk == 63 ? 32 : 16;
      auto probe = LogprobProbe::load(folder / (name + ".gguf"), options);
      ASSERT_TRUE(probe.ok()) << probe.error().message;
      std::size_t index = 0;
      for (const golden::Case& c : cases) {
        if (c.name != "p130" && c.name != "p300") continue;
        LogprobQuery query;
        query.prompt_ids = c.prompt_ids;
        query.generate = 4;
        const auto answer = (*probe)->answer(query);
        ASSERT_TRUE(answer.ok()) << answer.error().message;
        if (chunk == 512) expected.push_back(bits_of(*answer));
        EXPECT_EQ(bits_of(*answer), expected[index]) << c.name << " in chunks of " << chunk;
        ++index;
      }
    }
  }
}

}  // namespace
}  // namespace takt
