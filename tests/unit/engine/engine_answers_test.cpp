// What a request gets: complete answers, exact counts, reasons.
#include <gtest/gtest.h>

#include "support/engine_harness.h"

namespace takt {
namespace {

using testing::EngineHarness;
using testing::letters;
using testing::quick_script;

TEST(EngineAnswers, ARequestGetsItsTokensThenOneEndAndIsClosed) {
  EngineHarness h(quick_script());
  ASSERT_TRUE(h.submit(1, letters(40)).ok());
  ASSERT_TRUE(h.run());
  auto& history = h.events.of(1);
  ASSERT_TRUE(history.closed.has_value());
  EXPECT_EQ(history.choices[0].tokens.size(), 32U);
  EXPECT_EQ(history.choices[0].finished->reason, FinishReason::kStop);
  EXPECT_EQ(history.choices[0].finished->generated_tokens, 32U);
  EXPECT_EQ(history.closed->phase, RequestPhase::kDecode);
  EXPECT_EQ(history.events_after_close, 0);
}

}  // namespace
}  // namespace takt
