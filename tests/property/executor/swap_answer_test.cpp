// Promise 2 across the swap arena: what a client sees is the same to the bit, on the real executor and a real file.
#include <gtest/gtest.h>

#include <bit>
#include <filesystem>
#include <map>
#include <string>

#include "base/cpu_topology.h"
#include "engine/engine.h"
#include "exec/cpu/cpu_executor.h"
#include "swap/open_store.h"

namespace takt {
namespace {

constexpr int kMostSteps = 100000;
constexpr const char* kModel = TAKT_SOURCE_DIR "/tests/data/tiny.gguf";

// Tokens and the bits of all logprobs, by request.
class Bits final : public EventSink {
 public:
  void publish(const std::vector<Event>& events) noexcept override {
    for (const Event& event : events) {
      if (const auto* token = std::get_if<TokenSampled>(&event.what)) note(*token);
      if (const auto* lost = std::get_if<Preempted>(&event.what)) swapped += lost->swapped_tokens;
      if (std::holds_alternative<SwapLost>(event.what)) ++swaps_lost;
    }
  }
  std::map<std::uint64_t, std::vector<std::uint32_t>> of;
  std::uint32_t swapped = 0;
  std::uint32_t swaps_lost = 0;

 private:
  void note(const TokenSampled& token) {
    std::vector<std::uint32_t>& bits = of[token.request.value];
    bits.push_back(static_cast<std::uint32_t>(token.token.token));
    bits.push_back(std::bit_cast<std::uint32_t>(token.token.logprob));
    for (const TokenLogprob& top : token.token.top) {
      bits.push_back(static_cast<std::uint32_t>(top.token));
      bits.push_back(std::bit_cast<std::uint32_t>(top.logprob));
    }
  }
};

EngineRequest swap_request(std::uint64_t id, std::uint32_t prompt, std::uint32_t output, Tier tier, TimePoint now) {
  EngineRequest request;
  request.id = RequestId(id);
  request.arrival = now;
  for (std::uint32_t i = 0; i < prompt; ++i)
    request.prompt.push_back(static_cast<TokenId>((id * 131 + i * 29 + i * i * 7) % 256));
  request.max_tokens = output;
  request.labels.tier = tier;
  request.targets.max_queue_wait = std::chrono::hours(1);
  request.sampling.seed = 77 + id;
  request.sampling.temperature = id % 2 == 0 ? 0.0F : 0.8F;
  request.sampling.top_logprobs = 5;
  request.use_prefix_cache = false;
  return request;
}

// Two batch answers under way when a realtime prompt comes that, with few blocks, takes theirs.
Bits answers(KvType kv_type, std::uint32_t blocks, bool with_arena, bool in_file) {
  SteadyClock clock;
  CpuExecutorOptions compute;
  compute.threads = 2;
  compute.kv_blocks = blocks;
  compute.kv_type = kv_type;
  auto executor = CpuExecutor::load(kModel, compute, clock);
  EXPECT_TRUE(executor.ok());
  std::unique_ptr<SwapStore> store;
  if (with_arena) {
    SwapOptions swap;
    if (in_file) swap.path = TAKT_BINARY_DIR;
    swap.bytes = std::size_t{8} << 20;
    swap.staging_bytes = std::size_t{2} << 20;
    auto opened = open_swap_store(swap, (*executor)->capabilities().groups, available_memory_bytes(), clock);
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.error().message);
    if (opened.ok()) store = std::move(*opened);
  }
  EngineOptions options;
  options.sched.preemption = PreemptionRule::kSwap;
  options.warm_up = std::chrono::milliseconds(20);
  Bits bits;
  auto engine = Engine::create(std::move(*executor), clock, options, {&bits}, nullptr, nullptr, std::move(store));
  EXPECT_TRUE(engine.ok()) << (engine.ok() ? "" : engine.error().message);
  for (std::uint64_t id = 1; id <= 2; ++id)
    EXPECT_TRUE((*engine)->submit(swap_request(id, 90, 40, Tier::kBatch, clock.now())).ok());
  for (int i = 0; i < kMostSteps && bits.of[2].empty(); ++i) (*engine)->step();
  EXPECT_FALSE(bits.of[2].empty());
  EXPECT_TRUE((*engine)->submit(swap_request(3, 120, 8, Tier::kRealtime, clock.now())).ok());
  for (int i = 0; i < kMostSteps && !(*engine)->idle(); ++i) (*engine)->step();
  EXPECT_TRUE((*engine)->idle());
  return bits;
}

TEST(SwapAnswer, IsTheSameToTheBitWhetherItsBlocksWereInMemoryOrInAFile) {
  const Bits roomy = answers(KvType::kF16, 256, false, false);
  EXPECT_EQ(roomy.swapped, 0U);
  for (const bool in_file : {false, true}) {
    const Bits tight = answers(KvType::kF16, 20, true, in_file);
    EXPECT_GT(tight.swapped, 0U);
    EXPECT_EQ(tight.swaps_lost, 0U);
    EXPECT_EQ(tight.of, roomy.of);
  }
}

TEST(SwapAnswer, IsTheSameToTheBitWithInt8Blocks) {
  const Bits tight = answers(KvType::kQ8_0, 20, true, false);
  EXPECT_GT(tight.swapped, 0U);
  EXPECT_EQ(tight.of, answers(KvType::kQ8_0, 256, false, false).of);
}

}  // namespace
}  // namespace takt
