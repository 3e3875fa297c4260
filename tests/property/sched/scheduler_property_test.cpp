// The scheduler against a slow model of its rules, and rules that hold whatever comes.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "property/sched/naive_admission.h"
#include "property/sched/naive_memory.h"
#include "property/sched/random_history.h"
#include "support/scheduler_world.h"

namespace takt {
namespace {

using std::chrono::milliseconds;
using testing::any_options;
using testing::Dice;
using testing::NaiveAdmission;
using testing::operations;
using testing::random_classes;
using testing::random_facts;
using testing::SchedulerWorld;
using testing::WorldSequence;

std::string names(const std::set<SequenceId>& ids) {
  std::string text;
  for (const SequenceId id : ids) text += std::to_string(id.value) + " ";
  return text;
}

void compare_with_naive(std::uint64_t seed, int steps) {
  Dice dice(seed);
  SchedulerOptions o;
  o.order = dice.of({OrderRule::kFcfs, OrderRule::kFair, OrderRule::kDeadline});
  o.max_sequences = 1 + dice.below(12);
  o.max_step_tokens = 1'000'000;
  o.lookahead = dice.of({1U, 3U, 32U});
  o.max_overtakes = 1'000'000;
  o.protect_after = 1'000'000;
  o.batch_min_share = 0;
  o.classes = random_classes(dice, o.max_sequences);
  SchedulerWorld w(o, 100'000);
  w.model.per_step = std::chrono::microseconds(1);
  w.model.per_token = Duration(1);
  NaiveAdmission naive(o);
  std::vector<SequenceId> over;
  w.on_end = [&](const WorldSequence& s) { over.push_back(s.facts.id); };
  for (int i = 0; i < steps; ++i) {
    for (std::uint32_t n = dice.below(4); n > 0 && w.alive.size() < 40; --n) {
      SequenceFacts facts = random_facts(dice, w.now, 100, 12);
      facts.id = w.add(facts);
      naive.add(facts);
    }
    if (!w.alive.empty() && dice.one_in(8)) {
      const SequenceId victim =
          std::next(w.alive.begin(), dice.below(static_cast<std::uint32_t>(w.alive.size())))->first;
      w.remove(victim);
      naive.remove(victim);
    }
    const NaiveAdmission::Decision expected = naive.decide();
    over.clear();
    w.step();
    NaiveAdmission::Decision found;
    for (const PlanEntry& e : w.last.entries) {
      if (e.admits) found.enters.insert(e.sequence);
    }
    for (const PlanDrop& drop : w.last.drops) found.put_out.insert(drop.sequence);
    ASSERT_EQ(w.broken, "");
    ASSERT_EQ(names(found.enters), names(expected.enters)) << "seed " << seed << ", step " << i;
    ASSERT_EQ(names(found.put_out), names(expected.put_out)) << "seed " << seed << ", step " << i;
    naive.follow(w.last);
    for (const SequenceId id : over) naive.remove(id);
  }
}

TEST(SchedulerProperty, LetsInWhomTheSlowModelLetsIn) {
  const std::size_t runs = operations(100'000) / 500;
  for (std::uint64_t seed = 1; seed <= runs && !HasFatalFailure(); ++seed) compare_with_naive(seed, 60);
}

// Who runs on, who loses how much of its tail to whom, who enters with which prefix and how many blocks: the same as by
// the slow model, on a pool that is too small.
void compare_blocks_with_naive(std::uint64_t seed, int steps) {
  Dice dice(seed);
  SchedulerOptions o;
  o.max_sequences = 1 + dice.below(12);
  o.max_step_tokens = 1'000'000;
  o.lookahead = 1'000'000;
  o.watermark = dice.of({0.0, 0.05, 0.2});
  o.protect_after = 1 + dice.below(3);
  o.decode_share = 0;
  o.batch_min_share = 0;
  o.breaker.preemptions_per_minute = 0;
  const std::uint32_t blocks = 12 + dice.below(40);
  SchedulerWorld w(o, blocks);
  w.model.per_step = std::chrono::microseconds(1);
  w.model.per_token = Duration(1);
  testing::NaiveMemory naive(o, blocks);
  std::vector<SequenceId> over;
  w.on_end = [&](const WorldSequence& s) { over.push_back(s.facts.id); };
  for (int i = 0; i < steps; ++i) {
    for (std::uint32_t n = dice.below(3); n > 0 && w.alive.size() < 30; --n) {
      SequenceFacts facts = random_facts(dice, w.now, blocks * 6, blocks * 6);
      facts.service_class = kNoClass;
      if (dice.one_in(5)) facts.reserve_tokens = facts.prompt_tokens + dice.below(40);
      facts.id = w.add(facts);
      const std::uint32_t cached = dice.one_in(2) ? 0 : (facts.prompt_tokens - 1) / 16 * 16;
      w.alive.at(facts.id).cached = cached;
      naive.add(facts, cached);
    }
    if (!w.alive.empty() && dice.one_in(10)) {
      const SequenceId victim =
          std::next(w.alive.begin(), dice.below(static_cast<std::uint32_t>(w.alive.size())))->first;
      w.remove(victim);
      naive.remove(victim);
    }
    const std::string expected = naive.decide();
    over.clear();
    w.step();
    ASSERT_EQ(w.broken, "") << "seed " << seed << ", step " << i;
    ASSERT_EQ(testing::NaiveMemory::text_of(w.last), expected) << "seed " << seed << ", step " << i;
    naive.follow();
    for (const SequenceId id : over) naive.remove(id);
  }
}

TEST(SchedulerProperty, GivesAndTakesTheBlocksThatTheSlowModelGivesAndTakes) {
  const std::size_t runs = operations(100'000) / 250;
  for (std::uint64_t seed = 1; seed <= runs && !HasFatalFailure(); ++seed) compare_blocks_with_naive(seed, 100);
}

// Any settings, any load, cancels, a clock that jumps: no plan breaks a rule of the world, every wait has a reason, a
// sequence is preempted at most three times by its own tier, chunks keep the step inside its budget but for a block,
// and everything ends.
void run_any_history(std::uint64_t seed, int steps) {
  Dice dice(seed);
  const SchedulerOptions o = any_options(dice);
  const std::uint32_t blocks = 12 + dice.below(60);
  SchedulerWorld w(o, blocks);
  w.model.per_token = std::chrono::microseconds(dice.of({50, 500, 3000}));
  w.model.per_attended_ns = dice.of({0.0, 100.0});
  if (dice.one_in(5)) {
    // A clock that stands still but for its jumps.
    w.model.per_step = w.model.per_token = Duration::zero();
    w.model.per_attended_ns = 0;
  }
  for (int i = 0; i < steps; ++i) {
    if (dice.one_in(3) && w.alive.size() < 30) {
      SequenceFacts facts = random_facts(dice, w.now, blocks * 4, blocks * 4);
      if (o.reserve == KvReserve::kWorstCase) facts.reserve_tokens = facts.limit_tokens;
      w.add(facts);
    }
    if (!w.alive.empty() && dice.one_in(25))
      w.remove(std::next(w.alive.begin(), dice.below(static_cast<std::uint32_t>(w.alive.size())))->first);
    if (dice.one_in(30)) w.now += milliseconds(dice.below(100'000));
    w.step();
    ASSERT_EQ(w.broken, "") << "seed " << seed << ", step " << i;
    for (const auto& [id, s] : w.alive) {
      ASSERT_LE(s.preemptions_by_own_tier, o.protect_after) << "sequence " << id.value << ", seed " << seed;
    }
  }
  const int enough = 200'000;
  int turns = 0;
  while (!w.alive.empty() && turns < enough) {
    w.step();
    ASSERT_EQ(w.broken, "") << "seed " << seed;
    if (w.last.entries.empty()) w.now += milliseconds(50);
    ++turns;
  }
  ASSERT_LT(turns, enough) << "seed " << seed << ": " << w.alive.size() << " never end";
}

TEST(SchedulerProperty, AnyHistoryKeepsEveryRuleAndEnds) {
  const std::size_t runs = operations(100'000) / 250;
  for (std::uint64_t seed = 1; seed <= runs && !HasFatalFailure(); ++seed) run_any_history(seed, 200);
}

// A closed batch takes nobody in before it has ended.
TEST(SchedulerProperty, NobodyEverJoinsAClosedBatch) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Dice dice(seed);
    SchedulerOptions o;
    o.join = JoinRule::kWhenEmpty;
    o.prefill = PrefillRule::kWhole;
    o.max_sequences = 1 + dice.below(8);
    o.max_step_tokens = 1'000'000;
    o.window = {1 + dice.below(o.max_sequences), 0.0, milliseconds(20), dice.one_in(2)};
    SchedulerWorld w(o, 4000);
    for (int i = 0; i < 300; ++i) {
      if (dice.one_in(2) && w.alive.size() < 30) {
        SequenceFacts facts = random_facts(dice, w.now, 50, 20);
        facts.service_class = kNoClass;
        w.add(facts);
      }
      const std::uint32_t before = w.running();
      w.step();
      ASSERT_EQ(w.broken, "") << "seed " << seed << ", step " << i;
      for (const PlanEntry& e : w.last.entries) ASSERT_TRUE(!e.admits || before == 0) << "seed " << seed;
    }
  }
}

// Chunks never take a step beyond its budget by more than a row where decode rows leave room for one.
TEST(SchedulerProperty, ChunksKeepTheStepInsideItsBudget) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Dice dice(seed);
    SchedulerOptions o;
    o.batch_min_share = dice.of({0.0, 0.1});
    SchedulerWorld w(o, 4000);
    w.model.per_token = std::chrono::microseconds(200);
    for (int i = 0; i < 300; ++i) {
      if (dice.one_in(3) && w.alive.size() < 40) {
        SequenceFacts facts = random_facts(dice, w.now, 600, 60);
        facts.service_class = kNoClass;
        w.add(facts);
      }
      w.step();
      const Duration rows_alone = w.model.per_step + w.model.per_token * w.last.features.decode_rows;
      if (rows_alone > w.last.budget || w.last.features.tokens == w.last.features.decode_rows) continue;
      ASSERT_LE(w.last.predicted, w.last.budget + w.model.per_token) << "seed " << seed << ", step " << i;
    }
  }
}

// A reason that is told is true: who waits for a seat sees none free, and where there are seats, blocks and time for
// all, nobody waits.
TEST(SchedulerProperty, NoSeatIsEmptyWhileWorkWaitsThatCouldRun) {
  for (std::uint64_t seed = 1; seed <= operations(100'000) / 1000; ++seed) {
    Dice dice(seed);
    SchedulerOptions o;
    o.order = dice.of({OrderRule::kFcfs, OrderRule::kFair, OrderRule::kDeadline});
    o.max_sequences = 1 + dice.below(16);
    o.max_step_tokens = 1'000'000;
    o.decode_share = 0;
    o.batch_min_share = 0;
    const std::uint32_t blocks = dice.one_in(2) ? 100'000 : 20 + dice.below(60);
    SchedulerWorld w(o, blocks);
    w.model.per_step = std::chrono::microseconds(1);
    w.model.per_token = Duration(1);
    for (int i = 0; i < 200; ++i) {
      for (std::uint32_t n = dice.below(3); n > 0 && w.alive.size() < 40; --n) {
        SequenceFacts facts = random_facts(dice, w.now, 200, 100);
        facts.service_class = kNoClass;
        w.add(facts);
      }
      if (dice.one_in(40)) w.now += milliseconds(dice.below(5000));
      w.step();
      ASSERT_EQ(w.broken, "") << "seed " << seed << ", step " << i;
      const std::uint32_t entered_or_ran = static_cast<std::uint32_t>(w.last.entries.size());
      for (const QueueWait& wait : w.last.waits) {
        const std::string where =
            std::string(to_string(wait.reason)) + ", seed " + std::to_string(seed) + ", step " + std::to_string(i);
        // Those that ended with the step had their seats in it.
        if (wait.reason == WaitReason::kSeat) {
          ASSERT_EQ(entered_or_ran, o.max_sequences) << where;
        }
        if (wait.reason == WaitReason::kPreemption) {
          ASSERT_FALSE(w.last.drops.empty()) << where;
        }
        if (entered_or_ran < o.max_sequences && blocks == 100'000) {
          FAIL() << where << ": seats are free and blocks too";
        }
      }
    }
  }
}

// A realtime sequence enters beside others only while the decode rows of all of them, at what they have then, are
// predicted to take less than the share of the tightest target that such rows can keep at all.
TEST(SchedulerProperty, RealtimeSequencesEnterOnlyWhileTheirRowsLeaveTheBeatItsTime) {
  for (std::uint64_t seed = 1; seed <= operations(100'000) / 1000; ++seed) {
    Dice dice(seed);
    SchedulerOptions o = any_options(dice);
    o.decode_share = dice.of({0.5, 0.8});
    o.max_sequences = 64;
    SchedulerWorld w(o, 200 + dice.below(2000));
    w.model.per_token = std::chrono::microseconds(dice.of({200, 1000, 4000}));
    w.model.per_attended_ns = dice.of({0.0, 2000.0});
    const Duration single = w.model.predict({.tokens = 1, .attended_positions = 1});
    for (int i = 0; i < 200; ++i) {
      if (dice.one_in(2) && w.alive.size() < 90) {
        SequenceFacts facts = random_facts(dice, w.now, 200, 60);
        facts.itl_target = milliseconds(dice.of({2, 30, 60, 100}));
        w.add(facts);
      }
      if (dice.one_in(40)) w.now += milliseconds(dice.below(5000));
      w.step();
      ASSERT_EQ(w.broken, "") << "seed " << seed << ", step " << i;
      StepFeatures rows;
      Duration tightest = Duration::max();
      bool entered = false;
      std::map<SequenceId, bool> in_plan;
      for (const PlanEntry& e : w.last.entries) in_plan[e.sequence] = e.admits;
      for (const auto& [id, s] : w.alive) {
        if (!s.runs || s.facts.tier != Tier::kRealtime || s.facts.limit_tokens == s.facts.prompt_tokens + 1) continue;
        const std::uint32_t sampled = s.tokens.empty() || s.tokens.back() != w.now ? 0 : 1;
        ++rows.tokens;
        rows.attended_positions += s.known - sampled;
        const Duration limit = from_seconds(to_seconds(s.facts.itl_target) * o.decode_share);
        if (single < limit) tightest = std::min(tightest, limit);
        entered = entered || in_plan[id];
      }
      if (!entered || rows.tokens < 2) continue;
      ASSERT_LT(w.model.predict(rows), tightest) << "seed " << seed << ", step " << i;
    }
  }
}

}  // namespace
}  // namespace takt
