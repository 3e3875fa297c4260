// Timelines: who is scheduled in each step, with how many tokens. One token costs 1 ms, a step 1 ms, unless a test says
// otherwise.
#include <gtest/gtest.h>

#include "sched/admission.h"
#include "sched/budget.h"
#include "sched/prefill_split.h"
#include "unit/sched/scheduler_driver.h"

namespace takt {
namespace {

using std::chrono::milliseconds;
using testing::PlainModel;
using testing::SchedulerDriver;

SchedulerOptions options() {
  SchedulerOptions o;
  o.planning_margin = 0;
  o.step_overhead = 0;
  return o;
}

TEST(Scheduler, ChunksAPromptByTimeThenDecodes) {
  SchedulerDriver d(options());
  d.add(1, 250);
  // Nobody decodes: 200 ms a step. Then one row a step.
  d.expect_steps({"1:199", "1:51!", "1:1!", "1:1!"});
}

// A1, A3, A4: a long prompt never stops a stream, and the step stays inside the time budget.
TEST(Scheduler, RunningSequencesGetTheirTokenInEveryStepOfALongPrefill) {
  SchedulerDriver d(options());
  d.add(1, 10);
  d.step();
  d.add(2, 1000);
  for (int i = 0; i < 20; ++i) {
    const std::string line = d.step();
    EXPECT_EQ(line.substr(0, 4), "1:1!") << line;
    EXPECT_NE(line.find("2:"), std::string::npos) << "prefill goes on: " << line;
    EXPECT_LE(d.last.predicted, milliseconds(50));
    EXPECT_EQ(d.last.budget, milliseconds(50));
  }
}

TEST(Scheduler, ATighterTargetTightensTheStep) {
  SchedulerDriver d(options());
  SequenceFacts facts;
  facts.id = SequenceId(1);
  facts.itl_target = milliseconds(20);
  facts.prompt_tokens = 10;
  facts.limit_tokens = 100;
  d.scheduler.add(facts, d.now);
  d.step();
  d.add(2, 1000);
  EXPECT_EQ(d.step(), "1:1! 2:18");
}

// A4: chunks shrink as the prompt gets deeper and each row costs more.
TEST(Scheduler, ChunksShrinkWithDepthSoThatTheStepDoesNotGrow) {
  SchedulerDriver d(options(), 10000);
  d.model.per_attended_ns = 1000;
  d.add(1, 10, 1000);
  d.step();
  d.add(2, 20000, 10);
  std::uint32_t first = 0;
  std::uint32_t latest = 0;
  for (int i = 0; i < 200; ++i) {
    d.step();
    EXPECT_LE(d.last.predicted, milliseconds(50));
    latest = d.last.entries.back().token_count;
    if (first == 0) first = latest;
  }
  EXPECT_LT(latest, first);
}

// A6: short prompts behind a long one start in the next step, and finish in it when they fit their share of it.
TEST(Scheduler, AShortPromptStartsAndFinishesInTheNextStepBehindALongOne) {
  SchedulerDriver d(options(), 10000);
  d.add(1, 100000, 10);
  d.step();
  d.add(2, 90);
  EXPECT_EQ(d.step(), "1:30 2:90!");
  // With a stream decoding the step is 50 ms, and the short prompt takes its share of it.
  d.add(3, 50);
  EXPECT_EQ(d.step(), "2:1! 1:12 3:36");
  EXPECT_EQ(d.step(), "2:1! 1:4 3:14!");
}

// A6 with several long prompts under way.
TEST(Scheduler, AShortPromptStartsAtOnceBehindManyLongOnes) {
  SchedulerDriver d(options(), 100000);
  for (std::uint64_t id = 1; id <= 8; ++id) d.add(id, 50000, 10);
  for (int i = 0; i < 5; ++i) d.step();
  d.add(9, 60);
  const std::string line = d.step();
  EXPECT_NE(line.find("9:60!"), std::string::npos) << line;
}

TEST(Scheduler, TheOldestPromptKeepsItsShareWhateverComes) {
  SchedulerDriver d(options(), 10000);
  d.add(1, 2000, 10);
  d.step();
  std::uint64_t id = 2;
  int steps = 0;
  while (d.step().find("1:1!") == std::string::npos && steps < 200) {
    d.add(id, 80, 1);
    // Each short one ends with its first token.
    for (const PlanEntry& e : d.last.entries) {
      if (e.sequence != SequenceId(1) && e.samples) d.scheduler.remove(e.sequence, d.now);
    }
    ++id;
    ++steps;
  }
  EXPECT_LT(steps, 100);
}

// A9: what is cached emits at once.
TEST(Scheduler, AFullyCachedPromptEmitsInItsFirstStepBesideAnUncachedOne) {
  SchedulerDriver d(options(), 20000);
  d.add(1, 80000, 10);
  d.step();
  for (std::uint64_t id = 2; id <= 5; ++id) {
    d.add(id, 80000, 10);
    d.cached[id] = 79984;
  }
  const std::string line = d.step();
  for (const char* entry : {"2:16!", "3:16!", "4:16!", "5:16!"}) EXPECT_NE(line.find(entry), std::string::npos) << line;
}

// A5: K = 0 and M = 1 where decode rows alone fill the budget.
TEST(Scheduler, WhereDecodeRowsFillTheBudgetPrefillGetsABlockEverySecondStep) {
  SchedulerDriver d(options());
  d.model.per_step = milliseconds(60);
  d.add(1, 4);
  d.add(2, 4);
  d.step();
  d.add(3, 40, 5);
  d.expect_steps({"1:1! 2:1!", "1:1! 2:1! 3:16", "1:1! 2:1!", "1:1! 2:1! 3:16", "1:1! 2:1!", "1:1! 2:1! 3:8!"});
  EXPECT_TRUE(d.last.beat_overrun);
}

// Promise 1: where rows leave no time, a block of a prompt makes the step too long, and that is counted too.
TEST(Scheduler, AStepThatIsPlannedBeyondItsBudgetForAPromptSaysSo) {
  SchedulerDriver d(options());
  d.model.per_step = milliseconds(48);
  d.add(1, 4);
  d.add(2, 4);
  d.step();
  d.add(3, 40, 5);
  d.expect_steps({"1:1! 2:1!"});
  EXPECT_FALSE(d.last.beat_overrun) << "50 ms of 50";
  d.expect_steps({"1:1! 2:1! 3:16"});
  EXPECT_TRUE(d.last.beat_overrun);
}

TEST(Scheduler, WithoutDecodeRowsASlowMachineStillGoesOnByBlocks) {
  SchedulerDriver d(options());
  d.model.per_step = std::chrono::seconds(1);
  d.add(1, 40);
  d.expect_steps({"1:16", "1:16", "1:8!", "1:1!"});
}

TEST(Scheduler, SeatsAreFilledInOrderOfArrivalAndTheRestKnowsWhy) {
  SchedulerOptions o = options();
  o.max_sequences = 2;
  SchedulerDriver d(o);
  for (std::uint64_t id = 1; id <= 5; ++id) d.add(id, 4, 2);
  d.step();
  ASSERT_EQ(d.last.entries.size(), 2U);
  ASSERT_EQ(d.last.waits.size(), 1U);
  EXPECT_EQ(d.last.waits[0].reason, WaitReason::kSeat);
  EXPECT_EQ(d.last.waits[0].requests, 3U);
  d.scheduler.remove(SequenceId(1), d.now);
  EXPECT_EQ(d.step(), "2:1! 3:4!");
}

TEST(Scheduler, TheWholePromptMustFitEvenWhenItIsChunked) {
  SchedulerDriver d(options(), 20);  // 320 tokens
  d.add(1, 200, 20);
  d.add(2, 200, 20);
  EXPECT_EQ(d.step(), "1:199");
  ASSERT_EQ(d.last.waits.size(), 1U);
  EXPECT_EQ(d.last.waits[0].reason, WaitReason::kBlocks);
  EXPECT_EQ(d.scheduler.oldest_wait_reason(), WaitReason::kBlocks);
}

TEST(Scheduler, AWatermarkStaysFreeForThoseWhoRun) {
  SchedulerOptions o = options();
  o.watermark = 0.2;
  SchedulerDriver d(o, 10);
  d.add(1, 96, 20);  // 6 blocks; 4 are free
  d.step();
  d.add(2, 48, 20);  // 3 blocks would leave 1
  EXPECT_EQ(d.step(), "1:1!");
  EXPECT_EQ(d.last.waits[0].reason, WaitReason::kBlocks);
}

// B2, B3: out of blocks, the newest gives up its tail in the same step, and nothing is admitted meanwhile.
TEST(Scheduler, WhenBlocksRunOutTheNewestGivesUpItsTail) {
  SchedulerDriver d(options(), 6);
  d.add(1, 32, 60);
  d.add(2, 32, 60);
  d.step();                               // 2 blocks each; both decode from 32 on
  for (int i = 0; i < 16; ++i) d.step();  // the third block each: 6 of 6
  EXPECT_EQ(d.step(), "-2@32 1:1!");
  d.add(3, 4, 4);
  EXPECT_EQ(d.step(), "1:1!");
  ASSERT_EQ(d.last.waits.size(), 2U);
  EXPECT_EQ(d.last.waits[0].queue, QueueKind::kResuming);
  EXPECT_EQ(d.last.waits[1].queue, QueueKind::kUnstarted);
  EXPECT_EQ(d.last.waits[1].reason, WaitReason::kBlocks) << "preempted work resumes before unstarted work";
  d.scheduler.remove(SequenceId(1), d.now);
  const std::string line = d.step();
  EXPECT_EQ(line.substr(0, 2), "2:");
}

TEST(Scheduler, TheLowerTierGivesUpItsBlocksFirst) {
  SchedulerDriver d(options(), 6);
  d.add(1, 32, 60, Tier::kBatch);  // older, but batch
  d.add(2, 32, 60);
  d.step();
  std::string line;
  for (int i = 0; i < 40 && line.find('-') == std::string::npos; ++i) line = d.step();
  EXPECT_EQ(line.substr(0, 3), "-1@");
}

TEST(Scheduler, NothingIsAdmittedInAStepThatPreempted) {
  SchedulerDriver d(options(), 6);
  d.add(1, 32, 60);
  d.add(2, 32, 60);
  for (int i = 0; i < 17; ++i) d.step();
  d.add(3, 4, 4);
  EXPECT_EQ(d.step(), "-2@32 1:1!");
  bool named = false;
  for (const QueueWait& w : d.last.waits) named = named || w.reason == WaitReason::kPreemption;
  EXPECT_TRUE(named);
}

// A13: after three preemptions by its own tier a sequence resumes only with its whole need, and is then left alone.
TEST(Scheduler, AfterThreePreemptionsASequenceIsProtected) {
  SchedulerOptions o = options();
  o.watermark = 0;
  SchedulerDriver d(o, 14);
  d.add(1, 32, 180);  // 212 tokens: all 14 blocks at its end
  d.add(2, 32, 60);   // 92 tokens: 6 blocks
  std::uint64_t next = 10;
  for (int i = 0; i < 600 && d.scheduler.counts().running + d.scheduler.counts().waiting > 0; ++i) {
    d.step();
    EXPECT_LE(d.scheduler.preemptions(SequenceId(2)), o.protect_after);
    std::vector<SequenceId> over;
    for (const SequenceView& s : d.scheduler.look(100)) {
      if ((s.sequence == SequenceId(1) && s.known >= 212) || (s.sequence == SequenceId(2) && s.known >= 92))
        over.push_back(s.sequence);
      if (s.sequence.value >= 10 && s.known >= 40) over.push_back(s.sequence);
    }
    for (const SequenceId id : over) d.scheduler.remove(id, d.now);
    if (i % 20 == 0 && next < 14) d.add(next++, 30, 10);
  }
  EXPECT_EQ(d.scheduler.counts().running + d.scheduler.counts().waiting, 0U);
}

TEST(Scheduler, SiblingsWaitForTheSharedPromptThenComeBeforeUnstartedWork) {
  SchedulerDriver d(options());
  SequenceFacts facts;
  facts.id = SequenceId(1);
  facts.itl_target = milliseconds(100);
  facts.prompt_tokens = 300;
  facts.limit_tokens = 400;
  facts.siblings = 1;
  d.scheduler.add(facts, d.now);
  facts.id = SequenceId(2);
  facts.leader = SequenceId(1);
  facts.siblings = 0;
  d.scheduler.add(facts, d.now);
  EXPECT_EQ(d.step(), "1:199");
  ASSERT_EQ(d.last.waits.size(), 1U);
  EXPECT_EQ(d.last.waits[0].reason, WaitReason::kSibling);
  EXPECT_EQ(d.step(), "1:101!");
  d.add(3, 20);
  d.cached[2] = 288;
  EXPECT_EQ(d.step(), "1:1! 2:12! 3:20!");
  EXPECT_GT(d.scheduler.waited(SequenceId(2), d.now)[static_cast<std::size_t>(WaitReason::kSibling)],
            milliseconds(200));
}

TEST(Scheduler, AnEarlyEndOfTheFirstChoiceHandsItsPartToASibling) {
  SchedulerDriver d(options());
  SequenceFacts facts;
  facts.id = SequenceId(1);
  facts.prompt_tokens = 300;
  facts.limit_tokens = 400;
  facts.siblings = 2;
  d.scheduler.add(facts, d.now);
  facts.siblings = 0;
  facts.leader = SequenceId(1);
  for (const std::uint64_t id : {2U, 3U}) {
    facts.id = SequenceId(id);
    d.scheduler.add(facts, d.now);
  }
  d.step();
  d.scheduler.remove(SequenceId(1), d.now);
  EXPECT_EQ(d.step(), "2:199");
  EXPECT_EQ(d.step(), "2:101!");
  EXPECT_EQ(d.step().substr(0, 4), "2:1!");
  EXPECT_NE(d.step().find("3:"), std::string::npos);
}

// Choices of newer requests that wait for their prompts have nothing to do with the old rules.
TEST(Scheduler, AChangeOfRulesIsOverWhenNobodyIsLeftFromBefore) {
  SchedulerDriver d(options());
  d.add(1, 4);
  d.step();
  SchedulerOptions wanted = options();
  wanted.admission = AdmissionRule::kWorstCase;
  wanted.preemption = PreemptionRule::kNone;
  d.scheduler.reconfigure(wanted, d.now);
  std::uint64_t id = 1;
  for (int i = 0; i < 10; ++i) {
    SequenceFacts facts;
    facts.id = SequenceId(++id);
    facts.itl_target = milliseconds(100);
    facts.prompt_tokens = 300;
    facts.limit_tokens = 310;
    facts.siblings = 1;
    d.scheduler.add(facts, d.now);
    facts.leader = facts.id;
    facts.id = SequenceId(++id);
    facts.siblings = 0;
    d.scheduler.add(facts, d.now);
    d.step();
    if (i == 2) {
      EXPECT_NE(d.scheduler.options().preemption, PreemptionRule::kNone);
      d.scheduler.remove(SequenceId(1), d.now);
    }
  }
  EXPECT_EQ(d.scheduler.options().preemption, PreemptionRule::kNone);
}

// The first choice goes before anybody of its class has waited in a queue.
TEST(Scheduler, ASiblingThatTakesOverBelongsToItsClassToo) {
  SchedulerOptions o = options();
  o.window = {4, 0.0, milliseconds(500), false};
  SchedulerDriver d(o);
  SequenceFacts facts;
  facts.id = SequenceId(1);
  facts.service_class = ClassIndex(7);
  facts.prompt_tokens = 20;
  facts.limit_tokens = 30;
  facts.siblings = 1;
  d.scheduler.add(facts, d.now);
  facts.leader = facts.id;
  facts.id = SequenceId(2);
  facts.siblings = 0;
  d.scheduler.add(facts, d.now);
  d.scheduler.remove(SequenceId(1), d.now);
  EXPECT_EQ(d.step(), "2:20!");
}

TEST(Scheduler, QueueTimesAreDifferencesOfSumsByReason) {
  SchedulerOptions o = options();
  o.max_sequences = 1;
  SchedulerDriver d(o);
  d.add(1, 4, 50);
  d.step();
  const TimePoint joined = d.now;
  d.add(2, 4, 50);
  for (int i = 0; i < 10; ++i) d.step();
  const Duration all = d.now - joined;
  d.scheduler.remove(SequenceId(1), d.now);
  d.step();
  const WaitTimes waited = d.scheduler.waited(SequenceId(2), d.now);
  Duration sum{0};
  for (const Duration w : waited) sum += w;
  EXPECT_EQ(waited[static_cast<std::size_t>(WaitReason::kSeat)], all);
  EXPECT_EQ(sum - all, d.last.predicted) << "the rest is the step that admitted it";
}

TEST(Scheduler, ExpiredOnesAreNamedUntilTheyAreAdmitted) {
  SchedulerOptions o = options();
  o.max_sequences = 1;
  SchedulerDriver d(o);
  d.add(1, 4);
  d.step();
  SequenceFacts facts;
  facts.id = SequenceId(2);
  facts.prompt_tokens = 4;
  facts.limit_tokens = 10;
  facts.expires_at = d.now + milliseconds(10);
  d.scheduler.add(facts, d.now);
  EXPECT_EQ(d.scheduler.next_expiry(), facts.expires_at);
  EXPECT_TRUE(d.scheduler.expired(d.now).empty());
  EXPECT_EQ(d.scheduler.expired(facts.expires_at).size(), 1U);
  d.scheduler.remove(SequenceId(1), d.now);
  d.step();
  EXPECT_TRUE(d.scheduler.expired(facts.expires_at).empty());
}

TEST(Scheduler, WhatNoEmptyPoolCouldHoldIsNamedInsteadOfWaitedFor) {
  SchedulerDriver d(options(), 2);
  d.add(1, 64, 4);
  EXPECT_EQ(d.step(), "");
  ASSERT_TRUE(d.scheduler.unserviceable().has_value());
  EXPECT_EQ(*d.scheduler.unserviceable(), SequenceId(1));
}

TEST(Scheduler, TheOldestSequenceIsNeverTheOneThatWaitsForBlocks) {
  SchedulerDriver d(options(), 6);
  d.add(1, 32, 60);
  d.add(2, 32, 60);
  for (int i = 0; i < 40; ++i) d.step();
  for (const SequenceView& s : d.scheduler.look(10)) {
    if (s.sequence == SequenceId(1)) {
      EXPECT_EQ(s.state, SequenceState::kRunning);
    }
  }
}

TEST(Scheduler, AnEmptyPlanIsAValue) {
  SchedulerDriver d(options());
  EXPECT_TRUE(d.plan().empty());
  EXPECT_EQ(d.step(), "");
}

// B1, B8: context and pool, and what is asked for.
TEST(Admission, WhatCanNeverFitIsRefusedWithBothNumbers) {
  EXPECT_EQ(length_limit({100, 50}, {4096, 10000}).value(), 150U);
  EXPECT_EQ(length_limit({100, {}}, {4096, 10000}).value(), 4096U);
  EXPECT_EQ(length_limit({100, {}}, {4096, 1008}).value(), 1008U);
  const auto beyond_context = length_limit({4000, 200}, {4096, 10000});
  ASSERT_FALSE(beyond_context.ok());
  EXPECT_EQ(beyond_context.error().code, ErrorCode::kContextLength);
  EXPECT_EQ(beyond_context.error().field, "max_tokens");
  EXPECT_NE(beyond_context.error().message.find("4000"), std::string::npos);
  EXPECT_NE(beyond_context.error().message.find("4096"), std::string::npos);
  const auto beyond_pool = length_limit({1000, 24}, {4096, 1008});
  ASSERT_FALSE(beyond_pool.ok());
  EXPECT_EQ(beyond_pool.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(length_limit({4096, {}}, {4096, 10000}).ok()) << "no room for an answer";
  EXPECT_EQ(length_limit({4096, 0}, {4096, 10000}).value(), 4096U) << "a prompt that is only scored";
  EXPECT_FALSE(length_limit({0xFFFFFFFFU, 0xFFFFFFFFU}, {4096, 10000}).ok());
}

TEST(Budget, MostRowsIsTheLargestNumberThatFits) {
  const PlainModel model;
  EXPECT_EQ(most_rows(model, {}, 0, 1000, milliseconds(50)), 49U);
  EXPECT_EQ(most_rows(model, {}, 0, 10, milliseconds(50)), 10U);
  EXPECT_EQ(most_rows(model, {}, 0, 10, milliseconds(1)), 0U);
  EXPECT_EQ(most_rows(model, {}, 0, 0, milliseconds(50)), 0U);
}

TEST(Budget, AStepWithoutStreamsIsAsLongAsItsFixedCostWarrants) {
  SchedulerOptions o;
  const auto budget = [&](int fixed_ms) { return step_budget(o, std::nullopt, milliseconds(fixed_ms)); };
  EXPECT_EQ(budget(1), milliseconds(50)) << "not shorter than the beat";
  EXPECT_EQ(budget(3), milliseconds(60));
  EXPECT_EQ(budget(20), milliseconds(200)) << "not longer than max_step";
  EXPECT_EQ(step_budget(o, milliseconds(30), milliseconds(20)), milliseconds(30)) << "somebody's stream waits";
  for (const double hardly : {0.0, 1e-300, 1e-12, 0.001}) {
    o.step_overhead = hardly;
    EXPECT_EQ(budget(3), milliseconds(200)) << hardly;
  }
}

// Of two prompts of one length the first is ready after its own time, not after that of both.
TEST(PrefillSplit, TheOldestGoesFirstWhereItHasTheLeastLeft) {
  const PlainModel model;
  StepFeatures features;
  const PromptCandidate candidates[] = {{1, 20, 30}, {2, 0, 50}};
  const auto granted = split_prefill(candidates, {milliseconds(46), 2048, 0.75}, model, features);
  EXPECT_EQ(granted[0], 30U);
  EXPECT_EQ(granted[1], 15U);
}

TEST(PrefillSplit, ANewcomerThatNeedsLittleMakesTheStepShorter) {
  const PlainModel model;
  StepFeatures features;
  const PromptCandidate candidates[] = {{1, 0, 1000}, {2, 0, 29}};
  const auto granted = split_prefill(candidates, {milliseconds(201), 2048, 0.5}, model, features);
  EXPECT_EQ(granted[1], 29U);
  EXPECT_EQ(granted[0], 30U) << "30 ms for the newcomer, as much for the oldest";
}

TEST(PrefillSplit, TheOldestGetsAnEighthOfTheStepEvenBesideOneRow) {
  const PlainModel model;
  StepFeatures features;
  const PromptCandidate candidates[] = {{1, 0, 1000}, {2, 0, 1}};
  EXPECT_EQ(split_prefill(candidates, {milliseconds(160), 2048, 0.75}, model, features)[0], 18U);
}

TEST(PrefillSplit, WhatOneSideLeavesTheOtherGets) {
  const PlainModel model;
  StepFeatures features;
  const PromptCandidate candidates[] = {{1, 0, 5}, {2, 0, 1000}};
  const auto granted = split_prefill(candidates, {milliseconds(101), 2048, 0.5}, model, features);
  EXPECT_EQ(granted[0], 5U);
  EXPECT_EQ(granted[1], 95U);
  EXPECT_EQ(features.tokens, 100U);
}

}  // namespace
}  // namespace takt
