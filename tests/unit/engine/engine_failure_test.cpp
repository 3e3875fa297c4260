// Whatever fails, at most the step's requests end, with an error, and the next probe works.
#include <gtest/gtest.h>

#include <stdexcept>

#include "support/engine_harness.h"

namespace takt {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::EngineHarness;
using testing::letters;
using testing::quick_script;

std::vector<TokenId> alone(std::uint64_t id) {
  EngineHarness h(quick_script());
  EXPECT_TRUE(h.submit(id, letters(50, static_cast<std::uint32_t>(id))).ok());
  EXPECT_TRUE(h.run());
  return h.events.tokens(id);
}

class OneFailureAtAnyStep : public ::testing::TestWithParam<FakeFailure> {};

// A failure at every step in turn: it is retried, and every answer is the one of an undisturbed run.
TEST_P(OneFailureAtAnyStep, ChangesNoAnswer) {
  const auto a = alone(1);
  const auto b = alone(2);
  for (std::uint64_t fail_step = 1; fail_step < 40; ++fail_step) {
    FakeScript script = quick_script();
    script.fail = GetParam();
    script.fail_step = fail_step;
    EngineHarness h(script);
    ASSERT_TRUE(h.submit(1, letters(50, 1)).ok());
    ASSERT_TRUE(h.submit(2, letters(50, 2)).ok());
    ASSERT_TRUE(h.run());
    EXPECT_EQ(h.events.tokens(1), a) << "failed at step " << fail_step;
    EXPECT_EQ(h.events.tokens(2), b) << "failed at step " << fail_step;
    EXPECT_EQ(h.engine->status().blocks_owned, 0U);
    EXPECT_TRUE(h.engine->status().ready);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, OneFailureAtAnyStep,
                         ::testing::Values(FakeFailure::kOnce, FakeFailure::kSubmit, FakeFailure::kThrow,
                                           FakeFailure::kUnsampled));

TEST(EngineFailure, AFailedEntryEndsItsSequenceOnly) {
  FakeScript script = quick_script();
  script.fail = FakeFailure::kEntry;
  script.fail_step = 10;
  EngineHarness h(script);
  ASSERT_TRUE(h.submit(1, letters(50, 1)).ok());
  ASSERT_TRUE(h.submit(2, letters(50, 2)).ok());
  ASSERT_TRUE(h.run());
  EXPECT_EQ(h.events.of(1).choices[0].finished->reason, FinishReason::kFailed);
  EXPECT_FALSE(h.events.of(1).choices[0].finished->error.message.empty());
  EXPECT_EQ(h.events.tokens(2), alone(2));
}

TEST(EngineFailure, AnExecutorThatAlwaysFailsEndsItsRequestsWithTheErrorAndTheEngineGoesOn) {
  FakeScript script = quick_script();
  script.fail = FakeFailure::kAlways;
  script.fail_step = 5;
  EngineHarness h(script);
  for (std::uint64_t id = 1; id <= 3; ++id) ASSERT_TRUE(h.submit(id, letters(50)).ok());
  ASSERT_TRUE(h.run(1000));
  for (std::uint64_t id = 1; id <= 3; ++id) {
    EXPECT_EQ(h.events.of(id).closed->reason, FinishReason::kFailed);
    EXPECT_EQ(h.events.of(id).choices[0].finished->error.code, ErrorCode::kInternal);
  }
  EXPECT_FALSE(h.events.failures.empty());
  EXPECT_TRUE(h.submit(4, letters(5)).ok()) << "the next probe is accepted";
  ASSERT_TRUE(h.run(1000));
  EXPECT_TRUE(h.events.of(4).closed.has_value());
}

TEST(EngineFailure, AnExecutorThatIsGoneEndsEverythingAndIsSaid) {
  FakeScript script = quick_script();
  script.fail = FakeFailure::kFatal;
  script.fail_step = 5;
  EngineHarness h(script);
  ASSERT_TRUE(h.submit(1, letters(50)).ok());
  ASSERT_TRUE(h.submit(2, letters(50)).ok());
  StepOutcome outcome = StepOutcome::kNoWork;
  for (int i = 0; i < 20 && outcome != StepOutcome::kFatal; ++i) outcome = h.engine->step();
  EXPECT_EQ(outcome, StepOutcome::kFatal);
  for (std::uint64_t id = 1; id <= 2; ++id) {
    EXPECT_EQ(h.events.of(id).closed->reason, FinishReason::kFailed);
    EXPECT_EQ(h.events.of(id).choices[0].finished->error.code, ErrorCode::kUnavailable);
  }
  const EngineStatus status = h.engine->status();
  EXPECT_FALSE(status.ready);
  EXPECT_NE(status.reason.find("gone"), std::string::npos) << status.reason;
  EXPECT_EQ(h.submit(3, letters(5)).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(h.engine->step(), StepOutcome::kNoWork);
}

// One sequence that breaks every step it is in: its batch mates are told apart from it and finish.
class BreaksOn final : public Executor {
 public:
  BreaksOn(std::unique_ptr<Executor> inner, TokenId poison) : inner_(std::move(inner)), poison_(poison) {}
  const ExecutorCapabilities& capabilities() const override { return inner_->capabilities(); }
  Status open(SequenceSpec spec) override { return inner_->open(std::move(spec)); }
  void close(SequenceId sequence) noexcept override { inner_->close(sequence); }
  Result<StepTicket> submit(const BoundStep& step) override {
    for (const BoundEntry& entry : step.entries) {
      if (entry.tokens.front() == poison_) throw std::runtime_error("poison");
    }
    return inner_->submit(step);
  }
  Result<StepResult> collect(StepTicket ticket) override { return inner_->collect(ticket); }
  Status read_block(GroupId group, BlockId block, std::span<std::byte> bytes) const override {
    return inner_->read_block(group, block, bytes);
  }
  Status write_block(GroupId group, BlockId block, std::span<const std::byte> bytes) override {
    return inner_->write_block(group, block, bytes);
  }

 private:
  std::unique_ptr<Executor> inner_;
  TokenId poison_;
};

TEST(EngineFailure, ARequestThatBreaksEveryStepDoesNotTakeItsBatchMatesAlong) {
  ManualClock clock;
  testing::Recorder events;
  auto executor = std::make_unique<BreaksOn>(make_fake_executor(quick_script(), clock, advance(clock)), TokenId{7});
  auto engine = std::move(Engine::create(std::move(executor), clock, {}, {&events}).value());
  for (std::uint64_t id = 1; id <= 4; ++id) {
    EngineRequest request;
    request.id = RequestId(id);
    request.prompt = letters(50, static_cast<std::uint32_t>(id));
    if (id == 3) request.prompt.front() = 7;
    request.end_tokens = {kFakeImEnd};
    request.sampling.seed = 1000 + id;
    ASSERT_TRUE(engine->submit(std::move(request)).ok());
  }
  for (int i = 0; i < 1000 && !engine->idle(); ++i) engine->step();
  EXPECT_EQ(events.of(3).closed->reason, FinishReason::kFailed);
  for (const std::uint64_t id : {1U, 2U, 4U}) EXPECT_EQ(events.tokens(id), alone(id)) << id;
}

class BrokenModel final : public StepTimeModel {
 public:
  explicit BrokenModel(int good) : good_(good) {}
  Duration predict(const StepFeatures& f) const override {
    if (--good_ < 0 && good_ > -400) throw std::runtime_error("no prediction");
    return milliseconds(1) * f.tokens;
  }
  void observe(const StepFeatures&, Duration) override {}
  Duration error_quantile(double) const override { return Duration::zero(); }

 private:
  mutable int good_;
};

TEST(EngineFailure, AThrowWhilePlanningEndsRequestsWithAnErrorAndTheNextProbeWorks) {
  ManualClock clock;
  testing::Recorder events;
  auto engine = std::move(Engine::create(make_fake_executor(quick_script(), clock, advance(clock)), clock, {},
                                         {&events}, std::make_unique<BrokenModel>(20))
                              .value());
  std::uint64_t id = 0;
  bool answered = false;
  for (int i = 0; i < 3000 && !answered; ++i) {
    if (engine->idle()) {
      EngineRequest request;
      request.id = RequestId(++id);
      request.prompt = letters(5);
      request.end_tokens = {kFakeImEnd};
      ASSERT_TRUE(engine->submit(std::move(request)).ok());
    }
    engine->step();
    const auto& closed = events.of(id).closed;
    answered = closed && closed->reason == FinishReason::kStop;
  }
  EXPECT_TRUE(answered);
  EXPECT_EQ(events.of(1).closed->reason, FinishReason::kFailed);
}

// F13, F14: live is not ready: a step that does not come back turns ready false with the reason, and recovery turns it
// back.
TEST(EngineFailure, AStepThatHangsIsNoticedWithItsReasonAndForgottenAfterwards) {
  ManualClock clock;
  testing::Recorder events;
  FakeScript script = quick_script();
  EngineStatus during;
  StallReport stall;
  Engine* engine_in_step = nullptr;
  const SpendTime spend = [&](Duration cost) {
    clock.advance(cost);
    if (cost < seconds(5)) return;
    // Asked from another thread in life; here in the middle of the step.
    during = engine_in_step->status();
    stall = engine_in_step->stall_report();
  };
  script.fail = FakeFailure::kStall;
  script.fail_step = 10;
  script.stall = seconds(6);
  auto engine = std::move(Engine::create(make_fake_executor(script, clock, spend), clock, {}, {&events}).value());
  engine_in_step = engine.get();
  EngineRequest request;
  request.id = RequestId(1);
  request.prompt = letters(50);
  request.end_tokens = {kFakeImEnd};
  ASSERT_TRUE(engine->submit(std::move(request)).ok());
  for (int i = 0; i < 15; ++i) engine->step();
  EXPECT_FALSE(during.ready);
  EXPECT_NE(during.reason.find("no step was finished"), std::string::npos) << during.reason;
  EXPECT_GE(during.worst_token_gap, seconds(6));
  EXPECT_TRUE(stall.executing);
  EXPECT_GE(stall.since_progress, seconds(6));
  ASSERT_EQ(stall.sequences.size(), 1U);
  EXPECT_EQ(stall.sequences[0].request, RequestId(1));
  EXPECT_EQ(stall.sequences[0].phase, RequestPhase::kDecode);
  EXPECT_TRUE(engine->status().ready);
}

TEST(Watchdog, StandsStillOnlyWhileWorkWaits) {
  const TimePoint start{seconds(100)};
  EXPECT_FALSE(stands_still({false, start}, start + seconds(100), seconds(5)));
  EXPECT_FALSE(stands_still({true, start}, start + seconds(5), seconds(5)));
  EXPECT_TRUE(stands_still({true, start}, start + seconds(6), seconds(5)));
}

}  // namespace
}  // namespace takt
