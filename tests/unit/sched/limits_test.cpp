// Reserves, ceilings and the batch tier's minimum share. One token costs 1 ms, a step 1 ms.
#include <gtest/gtest.h>

#include "support/scheduler_world.h"

namespace takt {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::SchedulerWorld;
using testing::WorldSequence;

constexpr ClassIndex kVoice{0};
constexpr ClassIndex kChat{1};
constexpr ClassIndex kNight{2};

SchedulerOptions with_classes(std::uint32_t seats) {
  SchedulerOptions o;
  o.planning_margin = 0;
  o.step_overhead = 0;
  o.watermark = 0;
  o.max_sequences = seats;
  o.batch_min_share = 0;
  o.classes.resize(3);
  o.classes[kNight.value].limits.tier = Tier::kBatch;
  return o;
}

SequenceFacts of_class(ClassIndex service_class, std::uint32_t prompt, std::uint32_t output) {
  SequenceFacts facts;
  facts.service_class = service_class;
  facts.tier = service_class == kNight ? Tier::kBatch : Tier::kRealtime;
  facts.prompt_tokens = prompt;
  facts.limit_tokens = prompt + output;
  return facts;
}

bool runs(const SchedulerWorld& w, SequenceId id) {
  const auto it = w.alive.find(id);
  return it != w.alive.end() && it->second.runs;
}

WaitReason reason_of(const SchedulerWorld& w, ClassIndex service_class) {
  for (const QueueWait& wait : w.last.waits) {
    if (wait.queue == QueueKind::kUnstarted && wait.service_class == service_class) return wait.reason;
  }
  return WaitReason::kNone;
}

// H4: what is reserved is lent, and is back in the next step.
TEST(ClassLimits, ASeatThatWasLentComesBackWithinTwoSteps) {
  SchedulerOptions o = with_classes(4);
  o.classes[kVoice.value].limits.reserved.seats = 2;
  for (const ClassIndex borrower : {kChat, kNight}) {
    SchedulerWorld w(o);
    std::vector<SequenceId> others;
    for (int i = 0; i < 6; ++i) others.push_back(w.add(of_class(borrower, 4, 1000)));
    for (int i = 0; i < 5; ++i) w.step();
    EXPECT_EQ(w.running(), 4U) << "what is not used is lent";
    const SequenceId first = w.add(of_class(kVoice, 4, 100));
    const SequenceId second = w.add(of_class(kVoice, 4, 100));
    w.step();
    w.step();
    EXPECT_TRUE(runs(w, first));
    EXPECT_TRUE(runs(w, second));
    EXPECT_TRUE(runs(w, others[0]));
    EXPECT_TRUE(runs(w, others[1])) << "the newest give back";
    const SequenceId third = w.add(of_class(kVoice, 4, 100));
    for (int i = 0; i < 5; ++i) w.step();
    EXPECT_EQ(runs(w, third), borrower == kNight) << "above its reserve it waits for a seat of its own tier";
    EXPECT_EQ(w.broken, "");
  }
}

// H4: a class whose own claim lacks blocks does not keep another one from what is reserved for that.
TEST(ClassLimits, AClaimThatCannotBeMetDelaysNoOther) {
  SchedulerOptions o = with_classes(3);
  o.classes[kVoice.value].limits.reserved.seats = 1;
  o.classes[kChat.value].limits.reserved.seats = 1;
  o.classes[kChat.value].limits.reserved.blocks = 0.1;
  SchedulerWorld w(o, 100);
  for (int i = 0; i < 3; ++i) w.add(of_class(kNoClass, 300, 400));
  for (int i = 0; i < 8; ++i) w.step();
  ASSERT_EQ(w.running(), 3U);
  w.add(of_class(kVoice, 1000, 20));
  const SequenceId chat = w.add(of_class(kChat, 20, 20));
  w.step();
  w.step();
  EXPECT_TRUE(runs(w, chat));
  EXPECT_EQ(w.broken, "");
}

TEST(ClassLimits, ASeatIsKeptForAReserveThatIsAskedFor) {
  SchedulerOptions o = with_classes(3);
  o.classes[kVoice.value].limits.reserved.seats = 1;
  SchedulerWorld w(o);
  for (int i = 0; i < 3; ++i) w.add(of_class(kChat, 4, 8));
  for (int i = 0; i < 20; ++i) w.add(of_class(kChat, 4, 50));
  const SequenceId voice = w.add(of_class(kVoice, 4, 50));
  w.step();
  EXPECT_TRUE(runs(w, voice)) << "it came last";
  EXPECT_EQ(w.running(), 3U);
}

// A class at its ceiling holds up nobody else, also while seats are free, and says so.
TEST(ClassLimits, AClassAtItsCeilingWaitsForItAndHoldsUpNobody) {
  SchedulerOptions o = with_classes(8);
  o.classes[kChat.value].limits.ceiling.seats = 2;
  SchedulerWorld w(o);
  for (int i = 0; i < 100; ++i) w.add(of_class(kChat, 4, 50));
  const SequenceId voice = w.add(of_class(kVoice, 4, 50));
  w.step();
  EXPECT_EQ(w.running(), 3U);
  EXPECT_TRUE(runs(w, voice));
  EXPECT_EQ(reason_of(w, kChat), WaitReason::kTierCeiling);
}

// A look that is spent on a class at its ceiling, or on one that finds no seat of its own, costs no other class its
// turn, however few looks there are.
TEST(ClassLimits, WithASingleLookAheadAClassThatItsLimitsHoldUpHoldsUpNobody) {
  SchedulerOptions on_seats = with_classes(8);
  on_seats.classes[kChat.value].limits.ceiling.seats = 1;
  SchedulerOptions on_blocks = with_classes(8);
  on_blocks.classes[kChat.value].limits.ceiling.blocks = 0.1;
  SchedulerOptions on_others = with_classes(2);
  on_others.classes[kVoice.value].limits.reserved.seats = 1;
  for (SchedulerOptions o : {on_seats, on_blocks, on_others}) {
    o.lookahead = 1;
    SchedulerWorld w(o, 100);
    for (int i = 0; i < 5; ++i) w.add(of_class(kChat, 100, 50));
    for (int i = 0; i < 4; ++i) w.step();
    const SequenceId voice = w.add(of_class(kVoice, 4, 50));
    w.step();
    w.step();
    EXPECT_TRUE(runs(w, voice)) << to_string(reason_of(w, kVoice));
    EXPECT_EQ(w.broken, "");
  }
}

// E8: who starts past those that their class's ceiling holds up still finds its prefix in the cache.
TEST(ClassLimits, WhoStartsPastAClassAtItsCeilingFindsItsPrefix) {
  SchedulerOptions o = with_classes(3);
  o.classes[kChat.value].limits.ceiling.seats = 2;
  SchedulerWorld w(o);
  for (int i = 0; i < 50; ++i) w.add(of_class(kChat, 40, 50));
  w.step();
  const SequenceId voice = w.add(of_class(kVoice, 40, 50));
  w.alive.at(voice).cached = 32;
  w.step();
  EXPECT_TRUE(runs(w, voice));
  EXPECT_EQ(w.broken, "");
  EXPECT_EQ(w.last.entries.back().first_position, 32U);
}

// A prompt that has no room beside an unused reserve, whoever else ends, borrows of it; nobody behind it waits for
// ever.
TEST(ClassLimits, APromptThatCouldNeverFitBesideAReserveBorrowsOfIt) {
  SchedulerOptions o = with_classes(20);
  o.classes[kVoice.value].limits.reserved.blocks = 0.5;
  SchedulerWorld w(o, 100);
  w.add(of_class(kVoice, 32, 1000));  // somebody always runs
  w.step();
  const SequenceId large = w.add(of_class(kChat, 80 * 16 - 20, 20));
  const SequenceId behind = w.add(of_class(kChat, 20, 20));
  for (int i = 0; i < 150 && w.alive.contains(behind); ++i) w.step();
  EXPECT_FALSE(w.alive.contains(large));
  EXPECT_FALSE(w.alive.contains(behind));
  EXPECT_EQ(w.broken, "");
}

// The same while the reserve is in use all the time: the prompt waits for the end of those who use it, and those whom
// that leaves room for do not wait with it, of its own class, its tier or the lower one.
TEST(ClassLimits, APromptWithoutRoomBesideAReserveInUseHoldsUpNobody) {
  for (const ClassIndex others : {kChat, kNoClass, kNight}) {
    SchedulerOptions o = with_classes(20);
    o.classes[kVoice.value].limits.reserved.blocks = 0.5;
    SchedulerWorld w(o, 100);
    const SequenceId voice = w.add(of_class(kVoice, 45 * 16, 1000));
    while (w.alive.at(voice).tokens.empty()) w.step();
    const SequenceId large = w.add(of_class(kChat, 70 * 16, 20));
    for (int i = 0; i < 3; ++i) w.step();
    EXPECT_EQ(reason_of(w, kChat), WaitReason::kBlocks);
    for (int i = 0; i < 30; ++i) {
      const SequenceId behind = w.add(of_class(others, 20, 5));
      for (int step = 0; step < 10; ++step) w.step();
      EXPECT_FALSE(w.alive.contains(behind)) << "class " << others.value << ", " << i;
    }
    EXPECT_FALSE(runs(w, large));
    w.remove(voice);
    for (int i = 0; i < 10; ++i) w.step();
    EXPECT_TRUE(runs(w, large)) << "class " << others.value;
    EXPECT_EQ(w.broken, "");
  }
}

TEST(ClassLimits, ACeilingOnBlocksHolds) {
  SchedulerOptions o = with_classes(20);
  o.classes[kNight.value].limits.ceiling.blocks = 0.5;
  SchedulerWorld w(o, 20);
  for (int i = 0; i < 10; ++i) w.add(of_class(kNight, 32, 1));
  w.step();
  EXPECT_EQ(w.last.entries.size(), 5U) << "two blocks each, ten of twenty";
  EXPECT_EQ(reason_of(w, kNight), WaitReason::kTierCeiling);
}

TEST(ClassLimits, BlocksReservedForAClassAreLentToTheLowerTierOnly) {
  SchedulerOptions o = with_classes(20);
  o.classes[kVoice.value].limits.reserved.blocks = 0.5;
  SchedulerWorld w(o, 20);
  for (int i = 0; i < 10; ++i) w.add(of_class(kChat, 32, 200));
  w.step();
  EXPECT_LE(w.blocks_used(), 11U);
  SchedulerWorld lent(o, 20);
  for (int i = 0; i < 10; ++i) lent.add(of_class(kNight, 32, 200));
  lent.step();
  lent.step();
  EXPECT_GE(lent.blocks_used(), 18U);
  const SequenceId voice = lent.add(of_class(kVoice, 100, 20));
  lent.step();
  lent.step();
  EXPECT_TRUE(runs(lent, voice));
}

// Promise 6: streams of its own tier grew into the reserve; what is asked back is there in the same step, and the
// newest lost no more than that.
TEST(ClassLimits, BlocksThatStreamsGrewIntoComeBackInTheStepInWhichTheyAreAskedFor) {
  SchedulerOptions o = with_classes(20);
  o.classes[kVoice.value].limits.reserved.blocks = 0.4;
  SchedulerWorld w(o, 20);
  std::vector<SequenceId> chats;
  for (int i = 0; i < 6; ++i) chats.push_back(w.add(of_class(kChat, 20, 400)));
  while (w.blocks_used() < 20) w.step();
  const SequenceId voice = w.add(of_class(kVoice, 60, 20));
  w.step();
  EXPECT_TRUE(runs(w, voice));
  std::uint32_t lost = 0;
  for (const PlanDrop& drop : w.last.drops) {
    EXPECT_EQ(drop.in_favour_of, Tier::kRealtime);
    lost += drop.sequence == chats[0] ? 1 : 0;
  }
  EXPECT_EQ(lost, 0U) << "the oldest gives last";
  EXPECT_FALSE(w.last.drops.empty());
  EXPECT_EQ(w.broken, "");
}

TEST(ClassLimits, NobodyGivesUpBlocksForAClaimThatCannotBeMet) {
  SchedulerOptions o = with_classes(2);
  o.classes[kVoice.value].limits.reserved.blocks = 0.2;
  SchedulerWorld w(o, 20);
  w.add(of_class(kChat, 100, 200));
  w.add(of_class(kChat, 100, 200));
  for (int i = 0; i < 10; ++i) w.step();
  w.add(of_class(kVoice, 60, 20));
  for (int i = 0; i < 10; ++i) {
    w.step();
    EXPECT_TRUE(w.last.drops.empty()) << "it waits for a seat, which nobody has reserved for it";
  }
  EXPECT_EQ(reason_of(w, kVoice), WaitReason::kSeat);
}

TEST(ClassLimits, ACeilingOnStepTimeLeavesTheRestOfTheStepEmpty) {
  SchedulerOptions o = with_classes(20);
  o.classes[kNight.value].limits.ceiling.step_time = 0.25;
  SchedulerWorld w(o);
  w.add(of_class(kNight, 2000, 1));
  w.add(of_class(kNight, 2000, 1));
  for (int i = 0; i < 5; ++i) {
    w.step();
    EXPECT_LE(w.last.predicted, milliseconds(51)) << "a quarter of 200 ms";
    EXPECT_GE(w.last.predicted, milliseconds(40));
  }
}

// What any step costs is nobody's: where that alone is more than a ceiling, the class would have a row a step for ever.
TEST(ClassLimits, ACeilingOnStepTimeIsOfWhatRowsAdd) {
  SchedulerOptions o = with_classes(40);
  o.classes[kNight.value].limits.ceiling.step_time = 0.05;
  SchedulerWorld w(o);
  w.model.per_step = milliseconds(20);
  for (int i = 0; i < 30; ++i) w.add(of_class(kNight, 4, 1000));
  for (int i = 0; i < 20; ++i) w.step();
  EXPECT_EQ(w.last.entries.size(), 10U) << "a twentieth of 200 ms";
  EXPECT_EQ(w.last.predicted, milliseconds(30));
}

TEST(ClassLimits, StepTimeReservedForAClassIsItsBesideOlderPrompts) {
  SchedulerOptions o = with_classes(20);
  o.newcomer_share = 0.1;
  o.classes[kVoice.value].limits.reserved.step_time = 0.5;
  SchedulerWorld w(o, 10000);
  w.add(of_class(kChat, 20000, 1));
  w.step();
  w.add(of_class(kVoice, 1000, 1));
  for (int i = 0; i < 5; ++i) {
    w.step();
    std::uint32_t voice = 0;
    for (const PlanEntry& e : w.last.entries) voice += e.sequence == SequenceId(2) ? e.token_count : 0;
    EXPECT_GE(voice, 99U);
  }
}

SchedulerOptions with_min_share(double share, std::uint32_t seats) {
  SchedulerOptions o = with_classes(seats);
  o.batch_min_share = share;
  return o;
}

// Batch's part of the time of the steps while there is more realtime work than the machine can do.
double batch_part(SchedulerWorld& w, Duration time, std::uint32_t prompt, std::uint32_t output) {
  const TimePoint end = w.now + time;
  double batch = 0;
  double all = 0;
  while (w.now < end) {
    const auto waiting = std::count_if(w.alive.begin(), w.alive.end(), [](const auto& entry) {
      return !entry.second.started && entry.second.facts.tier == Tier::kRealtime;
    });
    for (auto i = waiting; i < 4; ++i) w.add(of_class(kChat, prompt, output));
    w.step();
    double rows = 0;
    double batch_rows = 0;
    for (const PlanEntry& e : w.last.entries) {
      rows += e.token_count;
      const auto it = w.alive.find(e.sequence);
      const bool is_batch = it != w.alive.end() && it->second.facts.tier == Tier::kBatch;
      batch_rows += is_batch ? e.token_count : 0;
    }
    if (rows == 0) continue;
    batch += to_seconds(w.last.predicted) * batch_rows / rows;
    all += to_seconds(w.last.predicted);
  }
  EXPECT_EQ(w.broken, "");
  return batch / all;
}

// H8: endless realtime work and one batch request, with any number of seats.
TEST(MinimumShare, EndlessRealtimeWorkDoesNotStarveTheBatchTier) {
  for (const std::uint32_t seats : {1U, 2U, 8U, 64U}) {
    for (const std::uint32_t prompt : {4U, 200U}) {
      SchedulerWorld w(with_min_share(0.1, seats), 4000);
      for (int i = 0; i < 20; ++i) w.add(of_class(kNight, 4, 100000));
      for (int i = 0; i < 20; ++i) w.step();
      EXPECT_GE(batch_part(w, seconds(60), prompt, 40), 0.1) << seats << " seats, prompts of " << prompt;
    }
  }
}

TEST(MinimumShare, WithoutOneItMayStarve) {
  SchedulerWorld w(with_min_share(0.0, 4), 4000);
  for (int i = 0; i < 20; ++i) w.add(of_class(kChat, 4, 40));
  w.step();
  w.add(of_class(kNight, 4, 100));
  EXPECT_EQ(batch_part(w, seconds(20), 4, 40), 0.0);
}

TEST(MinimumShare, AClassMayAskForMoreThanItsTier) {
  SchedulerOptions o = with_min_share(0.0, 8);
  o.classes[kNight.value].limits.min_share = 0.2;
  SchedulerWorld w(o, 4000);
  w.add(of_class(kNight, 40000, 100));
  EXPECT_GE(batch_part(w, seconds(60), 200, 40), 0.2);
}

// H4, H8: what their own class's ceilings keep from batch requests is not owed to them, so nobody's seat stays empty
// for it.
TEST(MinimumShare, WhatItsCeilingsKeepFromTheBatchTierIsNotKeptFromPeople) {
  SchedulerOptions on_time = with_min_share(0.2, 16);
  on_time.classes[kNight.value].limits.ceiling.step_time = 0.05;
  SchedulerOptions on_seats = with_min_share(0.2, 16);
  on_seats.classes[kNight.value].limits.ceiling.seats = 1;
  for (const SchedulerOptions& o : {on_time, on_seats}) {
    SchedulerWorld w(o, 4000);
    for (int i = 0; i < 40; ++i) w.add(of_class(kNight, 4, 100000));
    batch_part(w, seconds(60), 4, 40);
    double realtime = 0;
    double batch = 0;
    for (int i = 0; i < 200; ++i) {
      batch_part(w, milliseconds(50), 4, 40);
      realtime += w.running(Tier::kRealtime);
      batch += w.running(Tier::kBatch);
    }
    EXPECT_GE(realtime / 200, 10.0) << "at most " << o.classes[kNight.value].limits.ceiling.seats << " batch seats";
    EXPECT_GE(batch / 200, 0.5);
  }
}

TEST(MinimumShare, IsForgottenWhereTheTierHasAllThatItCanUse) {
  MinimumShare share;
  MinimumShare::Step step{true, true, 0.1, 0.0, seconds(5)};
  share.note(step);
  EXPECT_TRUE(share.is_behind());
  EXPECT_GT(share.owed().seats, 0U);
  step.wants_more = false;
  share.note(step);
  EXPECT_FALSE(share.is_behind());
  EXPECT_EQ(share.owed().seats, 0U);
}

// Batch prompts need blocks; realtime requests wait for some all the time.
TEST(MinimumShare, ItComesWithBlocksToo) {
  SchedulerWorld w(with_min_share(0.2, 64), 100);
  for (int i = 0; i < 5; ++i) w.add(of_class(kChat, 200, 60));
  w.step();
  for (int i = 0; i < 4; ++i) w.add(of_class(kNight, 16, 280));
  EXPECT_GE(batch_part(w, seconds(60), 200, 60), 0.05);
}

}  // namespace
}  // namespace takt
