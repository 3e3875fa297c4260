// Bounds that the order of a tier keeps whatever comes.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "support/scheduler_world.h"

namespace takt {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::SchedulerWorld;
using testing::WorldSequence;

SchedulerOptions random_options(OrderRule rule) {
  SchedulerOptions o;
  o.order = rule;
  o.max_sequences = *rc::gen::inRange(1U, 24U);
  o.max_step_tokens = *rc::gen::element(32U, 256U, 2048U);
  o.planning_margin = 0.1;
  o.watermark = *rc::gen::element(0.0, 0.05);
  o.lookahead = *rc::gen::element(1U, 4U, 32U);
  o.admission = *rc::gen::element(AdmissionRule::kGreedy, AdmissionRule::kWorstCase);
  return o;
}

// A random load of two tenants that always have work waiting, and others that come and go.
class TwoBackloggedTenants {
 public:
  TwoBackloggedTenants(SchedulerWorld& world, std::uint32_t longest_prompt, std::uint32_t longest_answer)
      : world_(world), longest_prompt_(longest_prompt), longest_answer_(longest_answer) {}

  void keep_backlog() {
    std::array<int, 3> waiting{};
    for (const auto& [id, s] : world_.alive) {
      if (!s.started && s.facts.tenant.value <= 2) ++waiting[s.facts.tenant.value];
    }
    for (std::uint64_t tenant = 1; tenant <= 2; ++tenant) {
      for (int i = waiting[tenant]; i < 3; ++i) add(tenant);
    }
    if (next() % 8 == 0) add(3 + next() % 4);
  }

 private:
  std::uint64_t next() { return state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL, state_ >> 33; }
  void add(std::uint64_t tenant) {
    // One tenant's requests are long, the other's short: counting requests would not be fair.
    const std::uint32_t part = tenant == 1 ? 1 : 4;
    world_.add(1 + static_cast<std::uint32_t>(next() % std::max(1U, longest_prompt_ / part)),
               1 + static_cast<std::uint32_t>(next() % std::max(1U, longest_answer_ / part)), tenant);
  }

  SchedulerWorld& world_;
  std::uint32_t longest_prompt_;
  std::uint32_t longest_answer_;
  std::uint64_t state_ = *rc::gen::arbitrary<std::uint64_t>();
};

// H2, H3; Sheng et al., theorem 4.4: two backlogged tenants of equal weight differ by at most twice the larger of the
// longest prompt's cost and that of a memory full of output.
RC_GTEST_PROP(FairOrderProperty, TwoBackloggedTenantsNeverDifferByMoreThanTheBound, ()) {
  const SchedulerOptions o = random_options(OrderRule::kFair);
  const auto blocks = *rc::gen::inRange(40U, 400U);
  SchedulerWorld w(o, blocks);
  const auto longest_prompt = *rc::gen::inRange(8U, 300U);
  TwoBackloggedTenants load(w, longest_prompt, *rc::gen::inRange(1U, 120U));
  const double bound = 2.0 * std::max(o.fair.prompt * longest_prompt, o.fair.output * blocks * 16);
  for (int i = 0; i < 1500; ++i) {
    load.keep_backlog();
    w.step();
    RC_ASSERT(w.broken == std::string());
    const TenantLedger& ledger = w.scheduler.ledger(Tier::kRealtime);
    const double difference = ledger.find(TenantId(1))->served - ledger.find(TenantId(2))->served;
    RC_ASSERT(std::abs(difference) <= bound);
  }
}

// A10, H5: whoever waits is passed by at most max_overtakes younger ones, and those that start in one step with the
// last of them.
RC_GTEST_PROP(OrderProperty, NobodyIsOvertakenMoreOftenThanAllowed, ()) {
  SchedulerOptions o = random_options(*rc::gen::element(OrderRule::kDeadline, OrderRule::kFcfs));
  o.max_overtakes = *rc::gen::inRange(1U, 20U);
  SchedulerWorld w(o, 400);
  std::uint64_t state = *rc::gen::arbitrary<std::uint64_t>();
  const auto next = [&] { return state = state * 6364136223846793005ULL + 1442695040888963407ULL, state >> 33; };
  std::uint32_t most = 0;
  w.on_end = [&](const WorldSequence& s) { most = std::max(most, s.overtaken); };
  for (int i = 0; i < 800; ++i) {
    if (w.alive.size() < 60) {
      for (std::uint64_t n = next() % 3; n > 0; --n) {
        SequenceFacts facts;
        facts.prompt_tokens = 1 + static_cast<std::uint32_t>(next() % 100);
        facts.limit_tokens = facts.prompt_tokens + 1 + static_cast<std::uint32_t>(next() % 20);
        facts.deadline = w.now + milliseconds(next() % 4 == 0 ? 3'600'000 : next() % 500);
        w.add(facts);
      }
    }
    if (!w.alive.empty() && next() % 20 == 0)
      w.remove(std::next(w.alive.begin(), static_cast<std::ptrdiff_t>(next() % w.alive.size()))->first);
    w.step();
    RC_ASSERT(w.broken == std::string());
    for (const auto& [id, s] : w.alive) most = std::max(most, s.overtaken);
    RC_ASSERT(most <= o.max_overtakes + o.lookahead);
  }
}

// H2: over any minute in which both have work, served tokens differ from the weights by at most a tenth.
TEST(FairOrderProperty, OverAnyMinuteServedTokensFollowTheWeights) {
  SchedulerOptions o;
  o.order = OrderRule::kFair;
  o.max_sequences = 8;
  SchedulerWorld w(o, 2000);
  w.model.per_step = milliseconds(8);
  w.model.per_token = std::chrono::microseconds(500);
  const std::array<double, 3> weights = {0.0, 3.0, 1.0};
  std::array<std::vector<double>, 3> served;  // by second
  std::uint64_t state = 7;
  const auto next = [&] { return state = state * 6364136223846793005ULL + 1442695040888963407ULL, state >> 33; };
  std::size_t second = 0;
  while (second < 300) {
    for (std::uint64_t tenant = 1; tenant <= 2; ++tenant) {
      const auto waiting = std::count_if(w.alive.begin(), w.alive.end(), [&](const auto& entry) {
        return entry.second.facts.tenant.value == tenant && !entry.second.started;
      });
      if (waiting > 0) continue;
      SequenceFacts facts;
      facts.prompt_tokens = tenant == 1 ? 20 + static_cast<std::uint32_t>(next() % 300) : 50;
      facts.limit_tokens = facts.prompt_tokens + 10 + static_cast<std::uint32_t>(next() % 60);
      facts.tenant = TenantId(tenant);
      facts.weight = weights[tenant];
      w.add(facts);
    }
    w.step();
    ASSERT_EQ(w.broken, "");
    while (second < static_cast<std::size_t>(to_seconds(w.now.time_since_epoch()))) {
      ++second;
      for (std::uint64_t t = 1; t <= 2; ++t)
        served[t].push_back(w.scheduler.ledger(Tier::kRealtime).find(TenantId(t))->served * weights[t]);
    }
  }
  for (std::size_t from = 0; from + 60 < served[1].size(); ++from) {
    const double one = served[1][from + 60] - served[1][from];
    const double other = served[2][from + 60] - served[2][from];
    EXPECT_NEAR(one / (one + other), 0.75, 0.075) << "minute from second " << from;
  }
}

}  // namespace
}  // namespace takt
