// B16: every combination of what an answer must not depend on, on real arithmetic: prefix cache, a pool that forces
// preemption, piecewise prompts, other choices, company, tier; for every KV type.
#include <gtest/gtest.h>

#include <bit>

#include "engine/engine.h"
#include "exec/cpu/cpu_executor.h"
#include "support/engine_harness.h"

namespace takt {
namespace {

constexpr std::uint32_t kAnswerTokens = 40;
constexpr std::uint64_t kProbe = 1;

struct Features {
  bool cached = false;     // somebody computed the same beginning before
  bool crowded = false;    // the pool holds a fraction of what all need
  bool pieces = false;     // 16 rows a step
  bool choices = false;    // n = 3
  bool company = false;    // seven others
  bool batch = false;      // it is of the batch tier, the others are not
  bool penalties = false;  // the sampler looks back
};

// Of the first choice: tokens, and the bits of the chosen and the best logprobs.
struct Answered {
  std::vector<TokenId> tokens;
  std::vector<std::uint32_t> bits;
  bool operator==(const Answered&) const = default;
};

class LogprobRecorder final : public EventSink {
 public:
  void publish(const std::vector<Event>& events) noexcept override {
    for (const Event& event : events) {
      const auto* preempted = std::get_if<Preempted>(&event.what);
      if (preempted != nullptr && preempted->request.value == kProbe) ++preemptions;
      const auto* sampled = std::get_if<TokenSampled>(&event.what);
      if (sampled == nullptr || sampled->request.value != kProbe || sampled->choice != 0) continue;
      answer.tokens.push_back(sampled->token.token);
      answer.bits.push_back(std::bit_cast<std::uint32_t>(sampled->token.logprob));
      for (const TokenLogprob& top : sampled->token.top)
        answer.bits.push_back(std::bit_cast<std::uint32_t>(top.logprob));
    }
  }
  Answered answer;
  int preemptions = 0;
};

class FeaturePairs : public ::testing::TestWithParam<KvType> {
 protected:
  Answered answer_with(const Features& features) {
    CpuExecutorOptions compute;
    compute.threads = 1;
    compute.kv_type = GetParam();
    compute.kv_blocks = features.crowded ? 18 : 400;
    compute.max_step_tokens = features.pieces ? 16 : 512;
    compute.max_sequences = 16;
    auto executor = CpuExecutor::load(TAKT_SOURCE_DIR "/tests/data/tiny.gguf", compute, clock_);
    if (!executor) return {};
    EngineOptions options;
    options.warm_up = std::chrono::milliseconds(2);
    options.sched.max_sequences = options.sched.max_step_tokens = 16;
    if (!features.pieces) options.sched.max_step_tokens = 512;
    LogprobRecorder recorder;
    auto engine = Engine::create(std::move(*executor), clock_, options, {&recorder});
    EXPECT_TRUE(engine.ok()) << (engine.ok() ? "" : engine.error().message);
    if (!engine) return {};
    if (features.cached) {
      EXPECT_TRUE((*engine)->submit(request_of(100, 70, 0, features)).ok());
      run_to_end(**engine);
    }
    const auto submit_others = [&](std::uint32_t first, std::uint32_t last) {
      for (std::uint32_t other = first; features.company && other < last; ++other)
        EXPECT_TRUE((*engine)->submit(request_of(200 + other, 20 + 7 * other, 3, features)).ok());
    };
    submit_others(0, 4);
    EngineRequest probe = request_of(kProbe, 70, 0, features);
    probe.choices = features.choices ? 3 : 1;
    probe.labels.tier = features.batch ? Tier::kBatch : Tier::kRealtime;
    EXPECT_TRUE((*engine)->submit(std::move(probe)).ok());
    submit_others(4, 7);
    run_to_end(**engine);
    preemptions_ += recorder.preemptions;
    return recorder.answer;
  }

  EngineRequest request_of(std::uint64_t id, std::uint32_t prompt, std::uint32_t start,
                           const Features& features) const {
    EngineRequest request;
    request.id = RequestId(id);
    request.arrival = clock_.now();
    request.prompt = testing::letters(prompt, start);
    request.max_tokens = kAnswerTokens;
    request.targets.max_queue_wait = std::chrono::hours(1);
    request.sampling.seed = 7 + id;
    request.sampling.temperature = 0.8F;
    request.sampling.top_logprobs = 5;
    if (features.penalties) {
      request.sampling.repetition_penalty = 1.2F;
      request.sampling.frequency_penalty = 0.3F;
    }
    return request;
  }

  static void run_to_end(Engine& engine) {
    for (int i = 0; i < 10000; ++i) {
      if (engine.step() == StepOutcome::kNoWork && engine.idle()) return;
    }
    ADD_FAILURE() << "the engine did not come to its end";
  }

  SteadyClock clock_;
  int preemptions_ = 0;
};

TEST_P(FeaturePairs, NoCombinationChangesABit) {
  for (const bool penalties : {false, true}) {
    const Answered alone = answer_with({.penalties = penalties});
    ASSERT_EQ(alone.tokens.size(), kAnswerTokens);
    for (unsigned mask = 1; mask < 64; ++mask) {
      const Features features{(mask & 1U) != 0,  (mask & 2U) != 0,  (mask & 4U) != 0, (mask & 8U) != 0,
                              (mask & 16U) != 0, (mask & 32U) != 0, penalties};
      ASSERT_TRUE(answer_with(features) == alone) << "combination " << mask << (penalties ? " with penalties" : "");
    }
  }
  EXPECT_GT(preemptions_, 0) << "the small pool was meant to be too small";
}

INSTANTIATE_TEST_SUITE_P(KvTypes, FeaturePairs, ::testing::Values(KvType::kF16, KvType::kF32, KvType::kQ8_0),
                         [](const auto& kv) { return std::string(kv_type_name(kv.param)); });

}  // namespace
}  // namespace takt
