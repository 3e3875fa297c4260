// Who of a tier starts first: by arrival, by tenants' turns, by deadline. One token costs 1 ms, a step 1 ms.
#include <gtest/gtest.h>

#include <cmath>

#include "support/scheduler_world.h"

namespace takt {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::SchedulerWorld;
using testing::WorldSequence;

SchedulerOptions with_order(OrderRule rule, std::uint32_t seats = 64) {
  SchedulerOptions o;
  o.planning_margin = 0;
  o.step_overhead = 0;
  o.watermark = 0;
  o.order = rule;
  o.max_sequences = seats;
  return o;
}

std::vector<std::uint64_t> ids_in_order_of_start(SchedulerWorld& w, int steps) {
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < steps; ++i) {
    for (const PlanEntry& e : w.step().entries) {
      if (e.admits) ids.push_back(e.sequence.value);
    }
  }
  EXPECT_EQ(w.broken, "");
  return ids;
}

SequenceFacts due(const SchedulerWorld& w, milliseconds in, std::uint32_t prompt = 4, std::uint32_t output = 1) {
  SequenceFacts facts;
  facts.prompt_tokens = prompt;
  facts.limit_tokens = prompt + output;
  facts.deadline = w.now + in;
  return facts;
}

// H2: one tenant sends twenty at once, another asks once.
TEST(FairOrder, WhoAsksOnceDoesNotWaitForAnothersFlood) {
  for (const OrderRule rule : {OrderRule::kFcfs, OrderRule::kFair}) {
    SchedulerWorld w(with_order(rule, 1));
    for (int i = 0; i < 20; ++i) w.add(10, 10, 1);
    w.step();
    const SequenceId asks_once = w.add(10, 10, 2);
    const auto ids = ids_in_order_of_start(w, 400);
    ASSERT_EQ(ids.size(), 20U);
    const auto place = std::find(ids.begin(), ids.end(), asks_once.value) - ids.begin();
    EXPECT_EQ(place, rule == OrderRule::kFair ? 0 : 19);
  }
}

TEST(FairOrder, TenantsTakeTurnsInsideOneStepToo) {
  SchedulerWorld w(with_order(OrderRule::kFair, 4));
  for (int i = 0; i < 5; ++i) w.add(10, 5, 1);
  for (int i = 0; i < 5; ++i) w.add(10, 5, 2);
  const auto ids = ids_in_order_of_start(w, 1);
  EXPECT_EQ(ids, (std::vector<std::uint64_t>{1, 6, 2, 7}));
}

// H3: work counts, not requests.
TEST(FairOrder, CostIsTokensNotRequests) {
  SchedulerWorld w(with_order(OrderRule::kFair, 1));
  for (int i = 0; i < 30; ++i) w.add(100, 1, 1);
  for (int i = 0; i < 30; ++i) w.add(10, 1, 2);
  std::array<int, 3> started{};
  for (const std::uint64_t id : ids_in_order_of_start(w, 22)) ++started[id <= 30 ? 1 : 2];
  EXPECT_NEAR(started[1] * 102.0, started[2] * 12.0, 102.0);
}

// H3: who returns starts at the level of those who wait; what it did not use is gone.
TEST(FairOrder, WhoWasAwayIsNotOwedAnything) {
  SchedulerWorld w(with_order(OrderRule::kFair, 1));
  w.add(10, 1, 2);
  for (int i = 0; i < 200; ++i) w.add(10, 1, 1);
  for (int i = 0; i < 150; ++i) w.step();
  for (int i = 0; i < 50; ++i) w.add(10, 1, 2);
  std::array<int, 3> started{};
  for (const std::uint64_t id : ids_in_order_of_start(w, 40)) ++started[id <= 201 ? 1 : 2];
  EXPECT_NEAR(started[1], started[2], 2);
}

// H3: the same where nobody waits: a newcomer starts where the last one stands now, not where it stood when it began.
TEST(FairOrder, WhoComesToAnIdleQueueIsNotOwedWhatTheLastOneHadMeanwhile) {
  SchedulerWorld w(with_order(OrderRule::kFair, 1));
  w.add(10, 500, 1);
  while (!w.alive.empty()) w.step();
  for (int i = 0; i < 30; ++i) w.add(10, 5, 2);
  for (int i = 0; i < 30; ++i) w.add(10, 5, 1);
  std::array<int, 3> started{};
  for (const std::uint64_t id : ids_in_order_of_start(w, 120)) ++started[id <= 31 ? 2 : 1];
  EXPECT_NEAR(started[1], started[2], 2);
  EXPECT_GT(started[1], 5);
}

// A tenant that waits for its class's ceiling has had nothing. Who comes to another class meanwhile is no reason to let
// those wait for ever who have had something there.
TEST(FairOrder, AClassThatIsHeldUpLetsNobodyPassByInAnother) {
  SchedulerOptions o = with_order(OrderRule::kFair, 2);
  o.classes.resize(2);
  o.classes[1].limits.ceiling.seats = 1;
  SchedulerWorld w(o);
  const auto add = [&](std::uint32_t service_class, std::uint64_t tenant, std::uint32_t output) {
    SequenceFacts facts;
    facts.service_class = ClassIndex(service_class);
    facts.tenant = TenantId(tenant);
    facts.prompt_tokens = 10;
    facts.limit_tokens = 10 + output;
    return w.add(facts);
  };
  add(1, 9, 100000);
  w.step();
  add(1, 8, 10);
  const SequenceId first = add(0, 1, 300);
  while (w.alive.contains(first)) w.step();
  add(0, 2, 20);  // keeps the seat while the others come
  w.step();
  const SequenceId second = add(0, 1, 5);
  for (std::uint64_t tenant = 100; tenant < 160; ++tenant) {
    add(0, tenant, 1);
    w.step();
  }
  EXPECT_FALSE(w.alive.contains(second));
  EXPECT_EQ(w.broken, "");
}

TEST(FairOrder, AWeightOfTwoHasTwiceTheTokens) {
  SchedulerWorld w(with_order(OrderRule::kFair, 4));
  std::array<double, 3> tokens{};
  w.on_end = [&](const WorldSequence& s) { tokens[s.facts.tenant.value] += s.facts.limit_tokens; };
  for (int i = 0; i < 2000; ++i) {
    SequenceFacts facts;
    facts.prompt_tokens = 20;
    facts.limit_tokens = 30;
    facts.tenant = TenantId(1 + i % 2);
    facts.weight = i % 2 == 0 ? 2.0 : 1.0;
    w.add(facts);
  }
  for (int i = 0; i < 1500; ++i) w.step();
  EXPECT_NEAR(tokens[1] / tokens[2], 2.0, 0.1);
}

TEST(FairOrder, WorkDoneAgainAfterAPreemptionIsNeverBilled) {
  SchedulerWorld w(with_order(OrderRule::kFair), 12);
  w.add(32, 100, 1);
  w.add(32, 100, 2);
  const TenantLedger& ledger = w.scheduler.ledger(Tier::kRealtime);
  std::uint32_t preempted = 0;
  while (!w.alive.empty()) {
    w.step();
    preempted += static_cast<std::uint32_t>(w.last.drops.size());
    ASSERT_EQ(w.broken, "");
    for (const auto& [id, s] : w.alive) {
      const double outputs = 2.0 * (s.known - s.facts.prompt_tokens);
      EXPECT_NEAR(ledger.find(s.facts.tenant)->served, outputs + (s.known > 32 ? 32.0 : 0.0), 32.0);
      EXPECT_LE(ledger.find(s.facts.tenant)->served, outputs + 32.0);
    }
  }
  EXPECT_GT(preempted, 0U);
}

TEST(FairOrder, CachedTokensCostATenth) {
  SchedulerWorld w(with_order(OrderRule::kFair));
  const SequenceId id = w.add(100, 5, 1);
  w.alive.at(id).cached = 80;
  w.step();
  EXPECT_DOUBLE_EQ(w.scheduler.ledger(Tier::kRealtime).find(TenantId(1))->served, 8.0 + 20.0 + 2.0);
}

TEST(FairOrder, WhatAnEndedPromptStillOwedIsForgiven) {
  SchedulerWorld w(with_order(OrderRule::kFair));
  const SequenceId id = w.add(1000, 5, 1);
  w.add(10, 5, 1);
  w.step();
  EXPECT_GT(w.scheduler.ledger(Tier::kRealtime).find(TenantId(1))->owed, 700.0);
  w.remove(id);
  EXPECT_DOUBLE_EQ(w.scheduler.ledger(Tier::kRealtime).find(TenantId(1))->owed, 0.0);
}

TEST(FairOrder, TenantsThatLeftAndAreOwedNothingAreForgotten) {
  SchedulerWorld w(with_order(OrderRule::kFair, 8));
  for (std::uint64_t tenant = 1; tenant <= 5000; ++tenant) {
    w.add(4, 1, tenant);
    w.step();
  }
  EXPECT_LT(w.scheduler.ledger(Tier::kRealtime).tenants(), 200U);
}

// Also where prompts cost nothing, so that no level is raised by those that wait.
TEST(FairOrder, TenantsAreForgottenWhateverTokensCost) {
  SchedulerOptions o = with_order(OrderRule::kFair, 8);
  o.fair = {0.0, 0.0, 1.0};
  SchedulerWorld w(o);
  for (std::uint64_t tenant = 1; tenant <= 2000; ++tenant) {
    w.add(4, 3, tenant);
    while (!w.alive.empty()) w.step();
  }
  EXPECT_LT(w.scheduler.ledger(Tier::kRealtime).tenants(), 200U);
}

TEST(FairOrder, TheQueueSaysThatItIsAnothersTurn) {
  SchedulerWorld w(with_order(OrderRule::kFair, 1));
  for (int i = 0; i < 3; ++i) w.add(10, 3, 1);
  w.step();
  w.add(10, 3, 2);
  bool named = false;
  for (int i = 0; i < 5; ++i) {
    for (const QueueWait& wait : w.step().waits) named = named || wait.reason == WaitReason::kFairTurn;
  }
  EXPECT_TRUE(named);
  const auto waited = w.scheduler.waited(SequenceId(2), w.now);
  EXPECT_GT(waited[static_cast<std::size_t>(WaitReason::kFairTurn)], Duration::zero());
  EXPECT_GT(waited[static_cast<std::size_t>(WaitReason::kSeat)], Duration::zero());
}

// H5: r1 has 200 ms, r2 comes 100 ms later and has 80.
TEST(DeadlineOrder, WhoIsDueFirstStartsFirst) {
  SchedulerWorld w(with_order(OrderRule::kDeadline, 1));
  w.add(due(w, milliseconds(10), 100, 1));
  w.step();
  w.add(due(w, milliseconds(200)));
  w.now += milliseconds(100);
  w.add(due(w, milliseconds(80)));
  EXPECT_EQ(ids_in_order_of_start(w, 20), (std::vector<std::uint64_t>{3, 2}));
}

// H5, A10: whoever is overtaken often enough is next, whatever its deadline.
TEST(DeadlineOrder, NobodyIsOvertakenMoreOftenThanAllowed) {
  SchedulerOptions o = with_order(OrderRule::kDeadline, 1);
  o.max_overtakes = 10;
  SchedulerWorld w(o);
  w.add(due(w, milliseconds(1)));
  std::uint32_t most = 0;
  std::uint32_t relaxed_started = 0;
  w.on_end = [&](const WorldSequence& s) {
    most = std::max(most, s.overtaken);
    if (s.facts.deadline - s.added > seconds(10)) ++relaxed_started;
  };
  for (int i = 0; i < 3; ++i) w.add(due(w, seconds(3600)));
  for (int i = 0; i < 200; ++i) {
    w.add(due(w, milliseconds(20)));
    w.step();
  }
  EXPECT_EQ(w.broken, "");
  EXPECT_EQ(most, 10U);
  EXPECT_EQ(relaxed_started, 3U);
}

TEST(DeadlineOrder, WithoutATargetTheyComeByArrival) {
  SchedulerWorld w(with_order(OrderRule::kDeadline, 1));
  for (int i = 0; i < 4; ++i) w.add(4, 1);
  EXPECT_EQ(ids_in_order_of_start(w, 20), (std::vector<std::uint64_t>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace takt
