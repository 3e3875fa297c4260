// H8: the batch tier's minimum share, over any minute of histories in which people always want more than there is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "property/sched/random_history.h"
#include "support/scheduler_world.h"

namespace takt {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Dice;
using testing::operations;
using testing::SchedulerWorld;

struct ShareOfStep {
  double seconds = 0.0;
  double batch = 0.0;  // of these
};

// The smallest share that the batch tier had in any stretch of steps that is at least a minute long.
double smallest_share_of_a_minute(const std::vector<ShareOfStep>& steps) {
  double smallest = 1.0;
  double time = 0.0;
  double batch = 0.0;
  std::size_t end = 0;
  for (const ShareOfStep& first : steps) {
    for (; time < 60.0 && end < steps.size(); ++end) {
      time += steps[end].seconds;
      batch += steps[end].batch;
    }
    if (time < 60.0) break;
    smallest = std::min(smallest, batch / time);
    time -= first.seconds;
    batch -= first.batch;
  }
  return smallest;
}

// With seats enough: rows of decoding cannot make up any share of a step that realtime prompts fill.
SchedulerOptions options_with_share(Dice& dice, double row_ms) {
  SchedulerOptions o;
  o.order = dice.of({OrderRule::kFcfs, OrderRule::kFair, OrderRule::kDeadline});
  o.batch_min_share = dice.of({0.02, 0.05, 0.05, 0.1, 0.3});
  o.max_sequences = 4 + static_cast<std::uint32_t>(1.1 * o.batch_min_share * 45.0 / row_ms) + dice.below(30);
  o.decode_share = dice.of({0.0, 0.8});
  return o;
}

class BusyWorld {
 public:
  BusyWorld(Dice& dice, double row_ms)
      : options_(options_with_share(dice, row_ms)), world_(options_, 100'000), dice_(dice) {
    world_.model.per_step = milliseconds(dice.of({1, 10}));
    world_.model.per_token = from_seconds(row_ms * 1e-3);
    longest_prompt_ = dice.of({8U, 300U});
    longest_answer_ = dice.of({8U, 40U});
  }

  ShareOfStep step(bool with_batch) {
    refill(with_batch);
    const TimePoint start = world_.now;
    world_.step();
    double rows = 0.0;
    double batch = 0.0;
    for (const PlanEntry& e : world_.last.entries) {
      rows += e.token_count;
      batch += batch_.contains(e.sequence) ? e.token_count : 0;
    }
    const double time = to_seconds(world_.now - start);
    return {time, rows > 0 ? time * batch / rows : 0.0};
  }

  const SchedulerOptions& options() const { return options_; }
  TimePoint now() const { return world_.now; }
  const std::string& broken() const { return world_.broken; }

 private:
  // Realtime work always waits, and so does more batch work than there are seats.
  void refill(bool with_batch) {
    std::uint32_t waiting = 0;
    std::uint32_t batch = 0;
    for (const auto& [id, s] : world_.alive) {
      const bool is_batch = s.facts.tier == Tier::kBatch;
      batch += is_batch ? 1 : 0;
      waiting += !is_batch && !s.started ? 1 : 0;
    }
    for (; waiting < 4; ++waiting) add(Tier::kRealtime, longest_prompt_, longest_answer_);
    for (; with_batch && batch < options_.max_sequences + 2; ++batch) add(Tier::kBatch, 300, 600);
  }

  void add(Tier tier, std::uint32_t longest_prompt, std::uint32_t longest_answer) {
    const std::uint32_t prompt = 1 + dice_.below(longest_prompt);
    const SequenceId id = world_.add(prompt, 1 + dice_.below(longest_answer), dice_.below(4), tier);
    if (tier == Tier::kBatch) batch_.insert(id);
  }

  SchedulerOptions options_;
  SchedulerWorld world_;
  Dice& dice_;
  std::set<SequenceId> batch_;
  std::uint32_t longest_prompt_ = 0;
  std::uint32_t longest_answer_ = 0;
};

// Every seat is a person's when the batch work comes, and another one waits for each that becomes free.
TEST(MinimumShareProperty, TheBatchTierHasItsShareOfAnyMinute) {
  for (std::uint64_t seed = 1; seed <= operations(100'000) / 10'000; ++seed) {
    Dice dice(seed);
    BusyWorld world(dice, dice.of({0.5, 1.0, 3.0}));
    while (world.now() < TimePoint(seconds(4))) world.step(false);
    std::vector<ShareOfStep> steps;
    while (world.now() < TimePoint(seconds(110))) steps.push_back(world.step(true));
    ASSERT_EQ(world.broken(), "") << "seed " << seed;
    EXPECT_GE(smallest_share_of_a_minute(steps), world.options().batch_min_share)
        << "seed " << seed << ", " << world.options().max_sequences << " seats";
  }
}

// Promise 6: what the batch tier is owed is seats and blocks that come free. A stream that grows takes back what the
// tier holds of them before it, or another stream, stands still.
TEST(MinimumShareProperty, NoStreamLosesItsPlaceWhileTheBatchTierHoldsBlocks) {
  std::size_t from_streams = 0;
  std::size_t from_batch = 0;
  for (std::uint64_t seed = 1; seed <= operations(100'000) / 5'000; ++seed) {
    Dice dice(seed);
    SchedulerOptions o;
    o.order = dice.of({OrderRule::kFcfs, OrderRule::kFair});
    o.batch_min_share = dice.of({0.1, 0.3, 0.5});
    o.max_sequences = 4 + dice.below(12);
    o.watermark = dice.of({0.0, 0.05});
    o.breaker.preemptions_per_minute = 0;
    const std::uint32_t blocks = 30 + dice.below(70);
    SchedulerWorld w(o, blocks);
    w.model.per_step = milliseconds(dice.of({5, 20}));
    while (w.now < TimePoint(seconds(40))) {
      while (w.alive.size() < 2 * o.max_sequences) {
        const Tier tier = dice.one_in(3) ? Tier::kBatch : Tier::kRealtime;
        w.add(1 + dice.below(blocks * 3), 1 + dice.below(200), dice.below(4), tier);
      }
      std::set<SequenceId> streams;
      for (const auto& [id, s] : w.alive) {
        if (s.runs && s.facts.tier == Tier::kRealtime) streams.insert(id);
      }
      w.step();
      ASSERT_EQ(w.broken, "") << "seed " << seed;
      const bool some_lost = std::any_of(w.last.drops.begin(), w.last.drops.end(),
                                         [&](const PlanDrop& drop) { return streams.contains(drop.sequence); });
      from_streams += some_lost ? 1 : 0;
      from_batch += !some_lost && !w.last.drops.empty() ? 1 : 0;
      if (!some_lost) continue;
      for (const auto& [id, s] : w.alive) {
        ASSERT_TRUE(s.facts.tier == Tier::kRealtime || s.cover == 0)
            << "seed " << seed << ": " << id.value << " keeps " << s.cover << " positions";
      }
    }
  }
  EXPECT_GT(from_streams, 100U) << "the histories put the promise to the test";
  EXPECT_GT(from_batch, 100U);
}

}  // namespace
}  // namespace takt
