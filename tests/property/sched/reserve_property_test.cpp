// What is reserved comes back within two steps, whatever came before.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "property/sched/random_history.h"
#include "support/scheduler_world.h"

namespace takt {
namespace {

using std::chrono::milliseconds;
using testing::any_options;
using testing::Dice;
using testing::kClasses;
using testing::operations;
using testing::random_facts;
using testing::SchedulerWorld;
using testing::WorldSequence;

std::uint32_t blocks_of(std::uint32_t tokens) {
  return (tokens + 15) / 16;
}

// Random classes whose reserves of seats and blocks are counted alike, on a machine for which time is no matter.
SchedulerOptions options_with_reserves(Dice& dice) {
  SchedulerOptions o = any_options(dice);
  o.admission = dice.of({AdmissionRule::kGreedy, AdmissionRule::kPredicted});
  o.reserve = KvReserve::kPaged;
  o.window = {};
  o.max_sequences = 4 + dice.below(12);
  o.max_step_tokens = 1'000'000;
  o.lookahead = 64;
  o.decode_share = 0;
  o.batch_min_share = 0;
  o.breaker.preemptions_per_minute = 0;
  o.protect_after = 1'000'000;
  o.classes.assign(kClasses, {});
  for (std::size_t i = 0; i < o.classes.size(); ++i) {
    ClassLimits& limits = o.classes[i].limits;
    limits.tier = i < 2 ? Tier::kRealtime : Tier::kBatch;
    if (limits.tier == Tier::kBatch) continue;
    limits.reserved.seats = 1 + dice.below(o.max_sequences / 3);
    limits.reserved.blocks = dice.of({0.2, 0.35});
  }
  return o;
}

class ReserveWatch {
 public:
  ReserveWatch(const SchedulerOptions& options, std::uint32_t blocks) : options_(options), blocks_(blocks) {}

  // Before a step: who asks for nothing but what is reserved for its class. Counts the steps that each has asked.
  void look(const std::map<SequenceId, WorldSequence>& alive) {
    std::map<SequenceId, int> asking;
    for (std::uint32_t c = 0; c < 2; ++c) {
      const ClassLimits& limits = options_.classes[c].limits;
      std::uint32_t held = 0;
      std::uint32_t seats = 0;
      std::vector<const WorldSequence*> waiting;
      for (const auto& [id, s] : alive) {
        if (s.facts.service_class.value != c) continue;
        held += blocks_of(s.cover);
        seats += s.runs ? 1 : 0;
        if (!s.runs) waiting.push_back(&s);
      }
      // Only if all that wait fit, since who of them is first is the order's matter.
      for (const WorldSequence* s : waiting) {
        held += blocks_of(std::max(s->known, s->cover)) - blocks_of(s->cover);
        ++seats;
      }
      const auto reserved = static_cast<std::uint32_t>(limits.reserved.blocks * blocks_);
      if (held > reserved || seats > limits.reserved.seats) continue;
      for (const WorldSequence* s : waiting) asking[s->facts.id] = asked_[s->facts.id] + 1;
    }
    asked_ = asking;
  }
  // After it: the longest time that somebody who does not run has asked.
  int longest(const std::map<SequenceId, WorldSequence>& alive) const {
    int longest = 0;
    for (const auto& [id, steps] : asked_) {
      const auto s = alive.find(id);
      if (s != alive.end() && !s->second.runs) longest = std::max(longest, steps);
    }
    return longest;
  }
  std::size_t asked() const { return asked_.size(); }

 private:
  const SchedulerOptions& options_;
  std::uint32_t blocks_;
  std::map<SequenceId, int> asked_;
};

std::string story(const SchedulerWorld& w) {
  std::string text;
  for (const auto& [id, s] : w.alive) {
    const std::string service_class =
        s.facts.service_class == kNoClass ? "-" : std::to_string(s.facts.service_class.value);
    text += "\n" + std::to_string(id.value) + " class " + service_class +
            (s.runs ? " runs, known " : " waits, known ") + std::to_string(s.known) + ", covers " +
            std::to_string(s.cover);
  }
  for (const QueueWait& wait : w.last.waits)
    text += "\n" + std::to_string(wait.requests) + " wait for " + to_string(wait.reason);
  return text;
}

// Promise 6, H4: seats and blocks that are reserved for a class and were lent, to the lower tier or by the growth of
// streams, are back at most two steps after the class asks.
TEST(ReserveProperty, WhatIsReservedIsBackWithinTwoSteps) {
  std::size_t asked = 0;
  for (std::uint64_t seed = 1; seed <= operations(100'000) / 250; ++seed) {
    Dice dice(seed);
    const SchedulerOptions o = options_with_reserves(dice);
    const std::uint32_t blocks = 30 + dice.below(60);
    SchedulerWorld w(o, blocks);
    w.model.per_step = std::chrono::microseconds(10);
    w.model.per_token = Duration(10);
    ReserveWatch watch(o, blocks);
    for (int i = 0; i < 200; ++i) {
      // Floods of work without a reserve, and now and then somebody who has one.
      if (w.alive.size() < 40) {
        SequenceFacts facts = random_facts(dice, w.now, 60, 300);
        if (!dice.one_in(6)) facts.service_class = ClassIndex(2 + dice.below(2));
        facts.tier = facts.service_class.value < 2 ? Tier::kRealtime : Tier::kBatch;
        if (dice.one_in(3)) {
          // Of the realtime tier and of no class that reserves.
          facts.service_class = kNoClass;
          facts.tier = Tier::kRealtime;
        }
        w.add(facts);
      }
      if (dice.one_in(25))
        w.remove(std::next(w.alive.begin(), dice.below(static_cast<std::uint32_t>(w.alive.size())))->first);
      if (dice.one_in(50)) w.now += milliseconds(dice.below(10'000));
      watch.look(w.alive);
      w.step();
      asked += watch.asked();
      ASSERT_EQ(w.broken, "") << "seed " << seed << ", step " << i;
      ASSERT_LT(watch.longest(w.alive), 2) << "seed " << seed << ", step " << i << story(w);
    }
  }
  EXPECT_GT(asked, operations(100'000) / 100) << "the histories put the promise to the test";
}

}  // namespace
}  // namespace takt
