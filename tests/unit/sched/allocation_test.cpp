// Planning and committing allocate nothing once the scheduler is warm. Counts every operator new of this binary.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "sched/scheduler.h"
#include "support/allocation_counter.h"
#include "support/plain_step_time.h"

namespace takt {
namespace {

constexpr std::uint32_t kRunning = 64;
constexpr std::uint32_t kWaiting = 1000;
constexpr int kWarmSteps = 200;

// A scheduler in steady state. What is around it keeps its memory, so that what is counted is the scheduler's.
class WarmScheduler {
 public:
  WarmScheduler(const SchedulerOptions& options, std::uint32_t blocks) : scheduler_(options, ModelIndex(0)) {
    view_.geometry.block_tokens[0] = 16;
    view_.geometry.alignment = 16;
    view_.total.blocks[0] = blocks;
    model_.per_step = std::chrono::microseconds(100);
    model_.per_token = std::chrono::microseconds(10);
    for (auto* list : {&progress_}) list->reserve(kRunning * 2);
    known_.reserve(8 * kWaiting);
  }

  void add(std::uint32_t prompt, std::uint32_t output) {
    SequenceFacts facts;
    facts.id = SequenceId(++last_);
    facts.tier = last_ % 3 == 0 ? Tier::kBatch : Tier::kRealtime;
    facts.service_class = ClassIndex(static_cast<std::uint32_t>(last_ % 3));
    facts.tenant = TenantId(last_ % 7);
    facts.itl_target = std::chrono::milliseconds(100);
    facts.deadline = now_ + std::chrono::milliseconds(last_ * 7919 % 1000);
    facts.expires_at = now_ + std::chrono::hours(1);
    facts.prompt_tokens = prompt;
    facts.limit_tokens = prompt + output;
    known_[last_] = {prompt, prompt + output, 0};
    scheduler_.add(facts, now_);
  }

  // One step; the allocations of its planning and committing.
  std::uint64_t step() {
    view_.prefixes.clear();
    view_.tails.clear();
    view_.free.blocks[0] = view_.total.blocks[0] - used_;
    const std::uint64_t before = testing::allocation_count;
    for (const SequenceId id : scheduler_.queue_heads(now_)) view_.prefixes.push_back({id, 0, {}});
    for (const SequenceId id : scheduler_.holders(view_)) view_.tails.push_back({id, 0});
    scheduler_.plan(now_, view_, model_, plan_);
    scheduler_.apply_drops(plan_, now_);
    const std::uint64_t planned = testing::allocation_count;
    for (const PlanDrop& drop : plan_.drops) cover(known_[drop.sequence.value], drop.keep_tokens);
    progress_.clear();
    for (const PlanEntry& e : plan_.entries) {
      Sequence& s = known_[e.sequence.value];
      s.known += e.samples ? 1 : 0;
      cover(s, std::max(s.cover, e.cover_tokens));
      progress_.push_back({e.sequence, s.known, e.first_position + e.token_count});
    }
    now_ += plan_.predicted + Duration(1);
    const std::uint64_t commits = testing::allocation_count;
    scheduler_.commit(plan_, progress_, now_);
    const std::uint64_t made = (planned - before) + (testing::allocation_count - commits);
    ended_ = 0;
    for (const PlanEntry& e : plan_.entries) {
      Sequence& s = known_[e.sequence.value];
      if (s.known < s.limit) continue;
      cover(s, 0);
      scheduler_.remove(e.sequence, now_);
      ++ended_;
    }
    return made;
  }

  std::uint32_t ended() const { return ended_; }
  std::size_t preempted() const { return plan_.drops.size(); }
  SchedulerCounts counts() const { return scheduler_.counts(); }

 private:
  struct Sequence {
    std::uint32_t known = 0;
    std::uint32_t limit = 0;
    std::uint32_t cover = 0;
  };
  void cover(Sequence& s, std::uint32_t tokens) {
    used_ += (tokens + 15) / 16;
    used_ -= (s.cover + 15) / 16;
    s.cover = tokens;
  }

  Scheduler scheduler_;
  CapacityView view_;
  testing::PlainStepTime model_;
  TimePoint now_{std::chrono::seconds(1)};
  StepPlan plan_;
  std::vector<SequenceProgress> progress_;
  std::unordered_map<std::uint64_t, Sequence> known_;
  std::uint64_t last_ = 0;
  std::uint32_t used_ = 0;
  std::uint32_t ended_ = 0;
};

SchedulerOptions every_rule(OrderRule order, AdmissionRule admission) {
  SchedulerOptions o;
  o.order = order;
  o.admission = admission;
  o.max_sequences = kRunning;
  o.breaker.preemptions_per_minute = 0;
  o.classes.resize(3);
  o.classes[0].limits.tier = Tier::kBatch;
  o.classes[1].limits.reserved = {2, 0.1, 0.1};
  o.classes[2].limits.ceiling.step_time = 0.9;
  return o;
}

struct Rules {
  OrderRule order;
  AdmissionRule admission;
};

class SchedulerAllocations : public ::testing::TestWithParam<Rules> {};

TEST_P(SchedulerAllocations, SteadyStreamsAllocateNothing) {
  WarmScheduler s(every_rule(GetParam().order, GetParam().admission), 1'000'000);
  for (std::uint32_t i = 0; i < kRunning + kWaiting; ++i) s.add(50, 100'000);
  for (int i = 0; i < kWarmSteps; ++i) s.step();
  ASSERT_EQ(s.counts().running, kRunning);
  ASSERT_EQ(s.counts().waiting, kWaiting);
  std::uint64_t made = 0;
  for (int i = 0; i < 200; ++i) made += s.step();
  EXPECT_EQ(made, 0U);
}

// Requests come and go, some are preempted.
TEST_P(SchedulerAllocations, RequestsThatComeAndGoAllocateNothing) {
  WarmScheduler s(every_rule(GetParam().order, GetParam().admission), kRunning * 4);
  std::uint32_t next = 0;
  const auto turn = [&] {
    const std::uint64_t made = s.step();
    for (std::uint32_t n = s.ended(); n > 0; --n, ++next) s.add(20 + next * 37 % 90, 5 + next * 31 % 120);
    return made;
  };
  for (; next < kRunning + kWaiting; ++next) s.add(20 + next * 37 % 90, 5 + next * 31 % 120);
  for (int i = 0; i < 20 * kWarmSteps; ++i) turn();
  std::uint64_t made = 0;
  std::size_t preempted = 0;
  for (int i = 0; i < 200; ++i) {
    made += turn();
    preempted += s.preempted();
  }
  // Once in some thousand turns a list is as long as it never was.
  EXPECT_LE(made, 1U);
  if (GetParam().admission == AdmissionRule::kGreedy) {
    EXPECT_GT(preempted, 0U);
  }
}

std::string rules_name(const ::testing::TestParamInfo<Rules>& info) {
  static const char* const kOrders[] = {"Fcfs", "Fair", "Deadline"};
  static const char* const kAdmissions[] = {"Greedy", "Predicted", "WorstCase"};
  return std::string(kOrders[static_cast<int>(info.param.order)]) + kAdmissions[static_cast<int>(info.param.admission)];
}

INSTANTIATE_TEST_SUITE_P(Rules, SchedulerAllocations,
                         ::testing::Values(Rules{OrderRule::kFcfs, AdmissionRule::kGreedy},
                                           Rules{OrderRule::kFair, AdmissionRule::kGreedy},
                                           Rules{OrderRule::kFair, AdmissionRule::kPredicted},
                                           Rules{OrderRule::kDeadline, AdmissionRule::kWorstCase}),
                         rules_name);

}  // namespace
}  // namespace takt
