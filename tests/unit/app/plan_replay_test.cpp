// The scheduler run again over a step log plans the same steps, whatever happened in the run.
#include "plan_replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>
#include <sstream>

#include "costmodel/linear_model.h"
#include "metrics/step_log.h"
#include "step_history.h"
#include "support/engine_harness.h"

namespace takt::app {
namespace {

constexpr StepTimeTerms kTerms{2e-3, 1e-4, 5e-8};

class PlanReplay : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "takt-replay-" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove(path_);
  }
  void TearDown() override {
    for (const auto& file : files()) std::filesystem::remove(file);
  }

  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (std::string name = path_; std::filesystem::exists(name); name = path_ + "." + std::to_string(found.size()))
      found.push_back(name);
    return found;
  }

  // A run with arrivals, cancels, stops, two tiers, several choices and, where blocks are few, preemptions.
  void run(const FakeScript& script, EngineOptions options, unsigned seed, metrics::StepLogOptions log_options = {}) {
    log_options.path = path_;
    auto log = metrics::StepLog::open(log_options, {"fake"}, seed);
    ASSERT_TRUE(log) << log.error().message;
    ManualClock clock;
    clock.advance(std::chrono::hours(3));
    testing::Recorder events;
    auto executor = make_fake_executor(script, clock, advance(clock));
    std::unique_ptr<SwapStore> swap;
    if (arena_) swap = TimedStore::create(*arena_, swap_page_bytes(executor->capabilities().groups), clock).value();
    auto created = Engine::create(
        std::move(executor), clock, options, {&events}, std::make_unique<LinearStepTimeModel>(kTerms),
        &(*log)->tape(ModelIndex(0), {kTerms.per_step, kTerms.per_token, kTerms.per_attended, kTerms.per_swapped}),
        std::move(swap));
    ASSERT_TRUE(created) << created.error().message;
    Engine& engine = **created;
    std::mt19937 random(seed);
    const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    for (std::uint64_t id = 1; id <= 60; ++id) {
      EngineRequest request;
      request.id = RequestId(id);
      request.prompt = testing::letters(1 + below(150), below(4));
      request.arrival = clock.now();
      request.labels.tier = below(3) == 0 ? Tier::kRealtime : Tier::kBatch;
      request.labels.tenant = "tenant " + std::to_string(below(3));
      request.choices = below(8) == 0 ? 3 : 1;
      request.max_tokens = 1 + below(60);
      request.end_tokens = {kFakeImEnd, kFakeEndOfText};
      request.targets.max_queue_wait =
          below(10) == 0 ? Duration(std::chrono::milliseconds(40)) : Duration(std::chrono::hours(1));
      ASSERT_TRUE(engine.submit(std::move(request)));
      for (std::uint32_t i = below(12); i > 0; --i) engine.step();
      if (below(6) == 0) engine.cancel(RequestId(1 + below(static_cast<std::uint32_t>(id))), CancelCause::kClientGone);
      if (below(9) == 0) engine.finish_choice(RequestId(1 + below(static_cast<std::uint32_t>(id))), 0);
      if (below(20) == 0) clock.advance(std::chrono::milliseconds(300));
      if (!changes_.empty() && below(4) == 0) {
        EngineOptions changed = options;
        changed.sched = changes_[below(static_cast<std::uint32_t>(changes_.size()))];
        ASSERT_TRUE(engine.check(changed));
        engine.reconfigure(changed);
      }
    }
    for (int i = 0; i < 100000 && !engine.idle(); ++i) {
      if (engine.step() == StepOutcome::kDeferred) clock.advance(std::chrono::milliseconds(2));
    }
    ASSERT_TRUE(engine.idle());
    steps_ = std::move(events.steps);
    engine.stop();
    created->reset();
  }

  ReplayReport replay() const {
    auto log = metrics::StepLogReader::open(path_);
    EXPECT_TRUE(log) << log.error().message;
    if (!log) return {};
    const auto report = replay_plans(*log);
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : ReplayReport{};
  }

  void expect_same_plans() const {
    const ReplayReport report = replay();
    EXPECT_FALSE(report.difference) << *report.difference;
    EXPECT_EQ(report.steps, steps_.size());
    EXPECT_GE(report.plans, report.steps);
  }

  std::string path_;
  std::vector<SchedulerOptions> changes_;  // made at random moments of the run
  std::optional<TimedStoreScript> arena_;
  std::vector<StepCommitted> steps_;
};

TEST_F(PlanReplay, ARoomyRunComesOutTheSame) {
  run(testing::quick_script(), {}, 1);
  expect_same_plans();
}

TEST_F(PlanReplay, RunsInWhichTheRulesChangeComeOutTheSame) {
  changes_.resize(5);
  changes_[1].join = JoinRule::kWhenEmpty;
  changes_[1].prefill = PrefillRule::kWhole;
  changes_[1].padding = true;
  changes_[1].reserve = KvReserve::kContext;
  changes_[2].max_sequences = 2;
  changes_[2].max_step_tokens = 3;
  changes_[3].admission = AdmissionRule::kWorstCase;
  changes_[3].preemption = PreemptionRule::kNone;
  changes_[4].reserve = KvReserve::kWorstCase;
  changes_[4].window = {4, 0.5, std::chrono::milliseconds(30), true};
  FakeScript script = testing::quick_script();
  script.context_tokens = 256;
  script.block_count = 60;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    for (const auto& file : files()) std::filesystem::remove(file);
    run(script, {}, seed);
    expect_same_plans();
  }
}

TEST_F(PlanReplay, RunsWithPreemptionsComeOutTheSame) {
  FakeScript script = testing::quick_script();
  script.block_count = 40;
  EngineOptions options;
  options.sched.max_sequences = 6;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    run(script, options, seed);
    const bool preempted =
        std::any_of(steps_.begin(), steps_.end(), [](const StepCommitted& step) { return !step.plan.drops.empty(); });
    EXPECT_TRUE(preempted);
    expect_same_plans();
  }
}

TEST_F(PlanReplay, RunsWithSwapComeOutTheSameAlsoWhereTransfersFail) {
  FakeScript script = testing::quick_script();
  script.block_count = 40;
  EngineOptions options;
  options.sched.max_sequences = 6;
  arena_.emplace();
  arena_->out_time = arena_->in_time = std::chrono::milliseconds(1);
  metrics::StepLogOptions small;
  small.file_bytes = 20000;
  small.files = 1000;
  bool brought_back = false;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    options.sched.preemption = seed % 2 == 0 ? PreemptionRule::kSwap : PreemptionRule::kAuto;
    arena_->fail_in_every = seed > 4 ? 5 : 0;
    arena_->fail_out_every = seed > 6 ? 4 : 0;
    for (const auto& file : files()) std::filesystem::remove(file);
    run(script, options, seed, small);
    for (const StepCommitted& step : steps_) brought_back = brought_back || !step.plan.swap_ins.empty();
    expect_same_plans();
  }
  EXPECT_TRUE(brought_back);
}

TEST_F(PlanReplay, EveryModeOfBatchingComesOutTheSame) {
  EngineOptions closed;
  closed.sched.join = JoinRule::kWhenEmpty;
  closed.sched.prefill = PrefillRule::kWhole;
  closed.sched.padding = true;
  closed.sched.leave = LeaveRule::kWithBatch;
  closed.sched.window = {4, 0.0, std::chrono::milliseconds(50), false};
  closed.sched.reserve = KvReserve::kContext;
  closed.sched.preemption = PreemptionRule::kNone;
  EngineOptions predicted;
  predicted.sched.admission = AdmissionRule::kPredicted;
  predicted.sched.max_sequences = 5;
  EngineOptions windowed;
  windowed.sched.window = {3, 0.3, std::chrono::milliseconds(20), true};
  windowed.sched.admission = AdmissionRule::kWorstCase;
  EngineOptions fair;
  fair.sched.order = OrderRule::kFair;
  fair.sched.max_sequences = 4;
  EngineOptions by_deadline = fair;
  by_deadline.sched.order = OrderRule::kDeadline;
  for (const EngineOptions& options : {closed, predicted, windowed, fair, by_deadline}) {
    FakeScript script = testing::quick_script();
    script.context_tokens = 512;
    script.block_count = 128;
    run(script, options, 5);
    expect_same_plans();
  }
}

TEST_F(PlanReplay, AStepThatFailsOrLeavesRowsUnsampledComesOutTheSame) {
  for (const FakeFailure failure :
       {FakeFailure::kSubmit, FakeFailure::kThrow, FakeFailure::kEntry, FakeFailure::kUnsampled}) {
    FakeScript script = testing::quick_script();
    script.fail = failure;
    script.fail_step = 40;
    run(script, {}, 3);
    expect_same_plans();
  }
}

TEST_F(PlanReplay, TheWholeRunIsReadOverManyFilesOfTheLog) {
  metrics::StepLogOptions small;
  small.file_bytes = 3000;
  small.files = 1000;
  run(testing::quick_script(), {}, 2, small);
  EXPECT_GT(files().size(), 5u);
  expect_same_plans();
}

TEST_F(PlanReplay, ALogWhoseBeginningIsGoneIsReadAndDrawnButNotReplayed) {
  metrics::StepLogOptions small;
  small.file_bytes = 3000;
  small.files = 3;
  run(testing::quick_script(), {}, 2, small);
  EXPECT_EQ(files().size(), 3u);
  auto log = metrics::StepLogReader::open(path_);
  ASSERT_TRUE(log);
  EXPECT_FALSE(log->from_the_start());
  const auto report = replay_plans(*log);
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("does not go back to the server's start"), std::string::npos);

  auto again = metrics::StepLogReader::open(path_);
  ASSERT_TRUE(again);
  StepHistory history(std::move(*again), ModelIndex(0), StepRange{});
  std::size_t seen = 0;
  for (auto step = history.next(); step && step->has_value(); step = history.next(), ++seen) {
    EXPECT_GE((*step)->cells.size(), (*step)->plan.entries.size());
  }
  EXPECT_GT(seen, 0u);
}

// What is read is what was planned, entry by entry, and not only what a replay makes of it.
TEST_F(PlanReplay, TheLogHoldsThePlansAsTheyWere) {
  FakeScript script = testing::quick_script();
  script.block_count = 40;
  EngineOptions options;
  options.sched.max_sequences = 6;
  run(script, options, 4);
  auto log = metrics::StepLogReader::open(path_);
  ASSERT_TRUE(log);
  StepHistory history(std::move(*log), ModelIndex(0), std::nullopt);
  for (const StepCommitted& step : steps_) {
    const auto read = history.next();
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_TRUE(read->has_value());
    const StepPlan& plan = (*read)->plan;
    EXPECT_EQ(plan.id, step.plan.id);
    EXPECT_EQ((*read)->measured, step.measured);
    EXPECT_GE((*read)->running, step.running) << "who ends with the step is still there";
    EXPECT_EQ(plan.predicted, step.plan.predicted);
    EXPECT_EQ(plan.budget, step.plan.budget);
    EXPECT_EQ(plan.features.attended_positions, step.plan.features.attended_positions);
    ASSERT_EQ(plan.entries.size(), step.plan.entries.size());
    for (std::size_t i = 0; i < plan.entries.size(); ++i) {
      EXPECT_EQ(plan.entries[i].sequence, step.plan.entries[i].sequence);
      EXPECT_EQ(plan.entries[i].first_position, step.plan.entries[i].first_position);
      EXPECT_EQ(plan.entries[i].token_count, step.plan.entries[i].token_count);
      EXPECT_EQ(plan.entries[i].cover_tokens, step.plan.entries[i].cover_tokens);
    }
  }
  EXPECT_FALSE(history.next()->has_value());
}

TEST_F(PlanReplay, ALogThatWasChangedIsFoundOutByItsStep) {
  run(testing::quick_script(), {}, 1);
  std::ifstream in(path_);
  std::stringstream text;
  text << in.rdbuf();
  std::string log = text.str();
  // In the middle a prompt of three digits becomes shorter.
  static const std::regex kPrompt("\"prompt\":1[0-9][0-9],");
  const std::string half = log.substr(log.size() / 2);
  log = log.substr(0, log.size() / 2) +
        std::regex_replace(half, kPrompt, "\"prompt\":7,", std::regex_constants::format_first_only);
  std::ofstream(path_) << log;
  const ReplayReport report = replay();
  ASSERT_TRUE(report.difference);
  EXPECT_TRUE(report.difference->starts_with("step ")) << *report.difference;
  EXPECT_LT(report.steps, steps_.size());
}

TEST_F(PlanReplay, AnyBytesAreBorneByTheReader) {
  run(testing::quick_script(), {}, 1);
  std::ifstream in(path_);
  std::stringstream text;
  text << in.rdbuf();
  const std::string log = text.str();
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::string broken = log.substr(0, std::min<std::size_t>(log.size(), 6000));
    for (int k = 0; k < 3; ++k)
      broken[200 + random() % (broken.size() - 200)] = static_cast<char>("0-9{}[]\",e\n"[random() % 11]);
    std::ofstream(path_) << broken;
    auto reader = metrics::StepLogReader::open(path_);
    if (!reader) continue;
    const auto report = replay_plans(*reader);
    EXPECT_TRUE(report || !report.error().message.empty());
  }
}

}  // namespace
}  // namespace takt::app
