// B15: many requests through a pool that is much too small; nobody's answer holds anything of another's.
#include <gtest/gtest.h>

#include "support/engine_harness.h"

namespace takt {
namespace {

using testing::EngineHarness;
using testing::letters;
using testing::quick_script;

constexpr std::uint64_t kRequests = 10000;
constexpr std::uint64_t kAtOnce = 40;
constexpr std::uint32_t kAnswerTokens = 30;
constexpr std::uint32_t kSharedPrompt = 40;

FakeScript canary_script(std::uint32_t blocks) {
  FakeScript script = quick_script();
  script.length = 100;
  script.block_count = blocks;
  script.max_sequences = 24;
  return script;
}

// A beginning that many share, then the request's own number.
std::vector<TokenId> canary_prompt(std::uint64_t id) {
  std::vector<TokenId> prompt = letters(id % 3 == 0 ? 0 : kSharedPrompt, static_cast<std::uint32_t>(id % 5));
  for (const char digit : std::to_string(id)) prompt.push_back(digit);
  return prompt;
}

TEST(EngineCanaries, TenThousandRequestsInASmallPoolGetTheirOwnAnswers) {
  EngineHarness crowd(canary_script(60));
  crowd.events.keep_steps = false;
  EngineHarness alone(canary_script(64));
  alone.events.keep_steps = false;
  std::uint64_t preempted = 0;
  for (std::uint64_t first = 1; first <= kRequests; first += kAtOnce) {
    for (std::uint64_t id = first; id < first + kAtOnce; ++id) {
      ASSERT_TRUE(crowd.submit(id, canary_prompt(id), kAnswerTokens).ok());
      if (id % 7 == 0) crowd.step();
      if (id % 50 == 49) crowd.engine->cancel(RequestId(id), CancelCause::kClientGone);
    }
    ASSERT_TRUE(crowd.run());
    for (std::uint64_t id = first; id < first + kAtOnce; ++id) {
      EngineRequest request = alone.request(id, canary_prompt(id), kAnswerTokens);
      request.use_prefix_cache = false;
      ASSERT_TRUE(alone.engine->submit(std::move(request)).ok());
      ASSERT_TRUE(alone.run());
      preempted += crowd.events.of(id).preempted;
      if (id % 50 == 49) continue;
      ASSERT_EQ(crowd.events.tokens(id), alone.events.tokens(id)) << "request " << id;
    }
    crowd.events.requests.clear();
    alone.events.requests.clear();
  }
  EXPECT_GT(preempted, kRequests / 100) << "the pool was meant to be too small";
}

}  // namespace
}  // namespace takt
