// Realtime sequences enter only while the streams alone leave the beat its time. One token costs 1 ms, a step 1 ms.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/scheduler_world.h"

namespace takt {
namespace {

using std::chrono::milliseconds;
using testing::SchedulerWorld;
using testing::WorldSequence;

SchedulerOptions many_seats(double decode_share) {
  SchedulerOptions o;
  o.max_sequences = 256;
  o.decode_share = decode_share;
  o.batch_min_share = 0;
  return o;
}

SequenceFacts stream(Duration itl, std::uint32_t prompt = 4, std::uint32_t output = 1000) {
  SequenceFacts facts;
  facts.prompt_tokens = prompt;
  facts.limit_tokens = prompt + output;
  facts.itl_target = itl;
  return facts;
}

WaitReason unstarted_reason(const SchedulerWorld& w) {
  for (const QueueWait& wait : w.last.waits) {
    if (wait.queue == QueueKind::kUnstarted && wait.tier == Tier::kRealtime) return wait.reason;
  }
  return WaitReason::kNone;
}

TEST(BeatGuard, StreamsAreAdmittedOnlyWhileTheirRowsTakeLessThanTheirShareOfTheTarget) {
  SchedulerWorld w(many_seats(0.8), 4000);
  for (int i = 0; i < 150; ++i) w.add(stream(milliseconds(100)));
  for (int i = 0; i < 60; ++i) w.step();
  EXPECT_EQ(w.running(), 78U) << "1 + 78 ms is the most below 80";
  EXPECT_EQ(unstarted_reason(w), WaitReason::kStepTime);
  EXPECT_EQ(w.broken, "");
  SchedulerWorld all(many_seats(0.0), 4000);
  for (int i = 0; i < 150; ++i) all.add(stream(milliseconds(100)));
  for (int i = 0; i < 250; ++i) all.step();
  EXPECT_EQ(all.running(), 150U);
  EXPECT_TRUE(all.last.beat_overrun);
}

TEST(BeatGuard, WhenAStreamEndsTheNextOneStarts) {
  SchedulerWorld w(many_seats(0.8), 4000);
  for (int i = 0; i < 79; ++i) w.add(stream(milliseconds(100)));
  for (int i = 0; i < 60; ++i) w.step();
  ASSERT_EQ(w.running(), 78U);
  w.remove(w.alive.begin()->first);
  for (int i = 0; i < 3; ++i) w.step();
  EXPECT_EQ(w.running(), 78U);
}

TEST(BeatGuard, ATighterTargetOfANewcomerCounts) {
  SchedulerWorld w(many_seats(0.8), 4000);
  for (int i = 0; i < 30; ++i) w.add(stream(milliseconds(100), 4, 40));
  for (int i = 0; i < 8; ++i) w.step();
  const SequenceId voice = w.add(stream(milliseconds(30)));
  const SequenceId behind = w.add(stream(milliseconds(100)));
  for (int i = 0; i < 5; ++i) w.step();
  EXPECT_FALSE(w.alive.at(voice).runs);
  EXPECT_FALSE(w.alive.at(behind).runs) << "nobody passes it, or it would wait for ever";
  for (int i = 0; i < 60 && w.alive.size() > 2; ++i) w.step();
  w.step();
  EXPECT_TRUE(w.alive.at(voice).runs);
}

// Progress always: a lone sequence starts whatever the model says, and a target that no step can keep holds nobody up.
TEST(BeatGuard, ATargetThatASingleRowCannotKeepHoldsNobodyBack) {
  SchedulerWorld w(many_seats(0.8), 4000);
  w.model.per_step = milliseconds(200);
  for (int i = 0; i < 10; ++i) w.add(stream(milliseconds(100)));
  for (int i = 0; i < 60; ++i) w.step();
  EXPECT_EQ(w.running(), 10U);
}

TEST(BeatGuard, BatchWorkAndPromptsWithoutAnAnswerAreNotHeldBack) {
  SchedulerWorld w(many_seats(0.8), 4000);
  for (int i = 0; i < 78; ++i) w.add(stream(milliseconds(100)));
  for (int i = 0; i < 60; ++i) w.step();
  const SequenceId scored = w.add(stream(milliseconds(100), 4, 1));
  SequenceFacts night = stream(milliseconds(100));
  night.tier = Tier::kBatch;
  w.add(night);
  std::uint32_t scored_prompts = 0;
  w.on_end = [&](const WorldSequence& s) { scored_prompts += s.facts.id == scored ? 1 : 0; };
  for (int i = 0; i < 6; ++i) w.step();
  EXPECT_EQ(scored_prompts, 1U);
}

}  // namespace
}  // namespace takt
