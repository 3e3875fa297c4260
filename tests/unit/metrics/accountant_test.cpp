#include "metrics/accountant.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "unit/metrics/event_script.h"

namespace takt::metrics {
namespace {

using std::chrono::milliseconds;

Counts after(std::initializer_list<Event> events, int now_ms = 0) {
  Accountant accountant({"model"});
  for (const auto& event : events) accountant.apply(event);
  return accountant.snapshot(at_ms(now_ms));
}

TEST(Accountant, FollowsARequestFromTheQueueToItsEnd) {
  Accountant accountant({"model"});
  accountant.apply(accepted(0, 1, 100));
  auto chat = accountant.snapshot(at_ms(0)).classes.at(0);
  EXPECT_EQ(chat.service_class, "chat");
  EXPECT_EQ(chat.started, 1u);
  EXPECT_EQ(chat.waiting, 1u);
  EXPECT_EQ(chat.waiting_tokens, 100u);

  accountant.apply(admitted(30, 1, 64));
  chat = accountant.snapshot(at_ms(30)).classes.at(0);
  EXPECT_EQ(chat.waiting, 0u);
  EXPECT_EQ(chat.waiting_tokens, 0u);
  EXPECT_EQ(chat.running, 1u);
  EXPECT_EQ(chat.prompt_tokens, 100u);
  EXPECT_EQ(chat.cached_tokens, 64u);
  EXPECT_DOUBLE_EQ(chat.queue_wait.sum(), 0.030);

  for (const int ms : {100, 120, 180}) accountant.apply(token(ms, 1));
  accountant.apply(choice_finished(180, 1));
  accountant.apply(closed(181, 1));
  chat = accountant.snapshot(at_ms(200)).classes.at(0);
  EXPECT_EQ(chat.running, 0u);
  EXPECT_EQ(chat.finished, 1u);
  EXPECT_EQ(chat.generated_tokens, 3u);
  EXPECT_EQ(chat.first_token.count(), 1u);
  EXPECT_DOUBLE_EQ(chat.first_token.sum(), 0.1);
  EXPECT_EQ(chat.token_gap.count(), 2u);
  EXPECT_DOUBLE_EQ(chat.token_gap.sum(), 0.08);
  EXPECT_DOUBLE_EQ(chat.per_token.sum(), 0.04);
  EXPECT_DOUBLE_EQ(chat.duration.sum(), 0.181);
  EXPECT_EQ(chat.goodput.met, 1u);
}

// F16: preemption does not reset the first token, and does not make a second one.
TEST(Accountant, APreemptedRequestHasOneFirstTokenCountedFromItsArrival) {
  const auto counts =
      after({accepted(0, 1), admitted(10, 1), token(50, 1), event(60, Preempted{RequestId(1), 0, 48}), token(400, 1)});
  const auto& chat = counts.classes.at(0);
  EXPECT_EQ(chat.first_token.count(), 1u);
  EXPECT_DOUBLE_EQ(chat.first_token.sum(), 0.05);
  EXPECT_DOUBLE_EQ(chat.token_gap.sum(), 0.35) << "the pause is a gap that the user saw";
  EXPECT_EQ(counts.models.at(0).preemptions_recompute, 1u);
  EXPECT_EQ(counts.models.at(0).preempted_tokens, 48u);
}

TEST(Accountant, ChoicesShareTheFirstTokenAndKeepTheirOwnGaps) {
  const auto counts = after(
      {accepted(0, 1, 10, labels("chat"), 2), admitted(10, 1), token(50, 1, 1), token(60, 1, 0), token(90, 1, 1)});
  const auto& chat = counts.classes.at(0);
  EXPECT_EQ(chat.first_token.count(), 1u);
  EXPECT_DOUBLE_EQ(chat.first_token.sum(), 0.05);
  EXPECT_EQ(chat.token_gap.count(), 1u);
  EXPECT_DOUBLE_EQ(chat.token_gap.sum(), 0.04);
}

// B18: operators can see in which phase clients went away.
TEST(Accountant, CountsCancelsByPhase) {
  const auto counts =
      after({accepted(0, 1), closed(1, 1, FinishReason::kCancelled, RequestPhase::kQueued), accepted(0, 2),
             admitted(1, 2), closed(2, 2, FinishReason::kCancelled, RequestPhase::kPrefill), accepted(0, 3),
             admitted(1, 3), token(2, 3), closed(3, 3, FinishReason::kCancelled, RequestPhase::kDecode)});
  EXPECT_EQ(counts.cancelled_by_phase, (std::array<std::uint64_t, 3>{1, 1, 1}));
  EXPECT_EQ(counts.classes.at(0).cancelled, 3u);
}

TEST(Accountant, CountsARequestWithAFailedChoiceAsFailed) {
  const auto counts = after({accepted(0, 1, 10, labels("chat"), 2), admitted(1, 1), token(2, 1, 0),
                             choice_finished(3, 1, FinishReason::kFailed, 0), token(4, 1, 1),
                             choice_finished(5, 1, FinishReason::kStop, 1), closed(5, 1, FinishReason::kStop)});
  EXPECT_EQ(counts.classes.at(0).failed, 1u);
  EXPECT_EQ(counts.classes.at(0).finished, 0u);
  EXPECT_EQ(counts.classes.at(0).goodput.met, 0u);
}

TEST(Accountant, CountsRefusalsAtTheDoorAndExpiredWaitsByReason) {
  Accountant accountant({"model"});
  accountant.refuse(at_ms(0), labels("chat"), ErrorCode::kUnavailable);
  accountant.refuse(at_ms(0), labels("index", Tier::kBatch), ErrorCode::kContextLength);
  accountant.apply(accepted(0, 1));
  accountant.apply(closed(30000, 1, FinishReason::kExpired, RequestPhase::kQueued));
  const auto counts = accountant.snapshot(at_ms(30000));
  EXPECT_EQ(counts.refused_by_reason.at(ErrorCode::kUnavailable), 1u);
  EXPECT_EQ(counts.refused_by_reason.at(ErrorCode::kContextLength), 1u);
  EXPECT_EQ(counts.refused_by_reason.at(ErrorCode::kExpired), 1u);
  EXPECT_EQ(counts.classes.at(0).refused, 2u);
  EXPECT_EQ(counts.classes.at(1).tier, Tier::kBatch);
}

// A4: a stall of the running streams is visible while it lasts, though nothing waits and nothing is preempted.
TEST(Accountant, ShowsTheWorstCurrentGapWhileStreamsStandStill) {
  const std::initializer_list<Event> events{accepted(0, 1), admitted(5, 1), token(10, 1),   accepted(0, 2),
                                            admitted(5, 2), token(500, 2),  accepted(0, 3), admitted(5, 3),
                                            accepted(0, 4), admitted(5, 4), token(7, 4),    choice_finished(8, 4),
                                            closed(8, 4)};
  EXPECT_EQ(after(events, 2010).worst_current_gap, milliseconds(2000));
  EXPECT_EQ(after({}, 2010).worst_current_gap, Duration(0));
}

TEST(Accountant, SortsStepsAndTokensByPhase) {
  const auto counts = after({event(20, step(64, 0, milliseconds(10), milliseconds(20))),
                             event(40, step(0, 4, milliseconds(10), milliseconds(10))),
                             event(60, step(30, 4, milliseconds(10), milliseconds(5)))});
  const auto& model = counts.models.at(0);
  EXPECT_EQ(model.steps, (std::array<std::uint64_t, 3>{1, 1, 1}));
  EXPECT_EQ(model.prefill_tokens, 94u);
  EXPECT_EQ(model.decode_tokens, 8u);
  EXPECT_EQ(model.busy, milliseconds(35));
  EXPECT_DOUBLE_EQ(model.measured_by_predicted.sum(), 2.0 + 1.0 + 0.5);
}

TEST(Accountant, CountsOverrunsAndStepsOverTheirBudgetApart) {
  auto overrun = step(0, 32, milliseconds(80), milliseconds(80));
  overrun.plan.budget = milliseconds(50);
  overrun.plan.beat_overrun = true;
  auto late = step(64, 0, milliseconds(40), milliseconds(55));
  late.plan.budget = milliseconds(50);
  auto unlimited = step(64, 0, milliseconds(40), milliseconds(55));
  const auto counts = after({event(80, overrun), event(140, late), event(200, unlimited)});
  EXPECT_EQ(counts.models.at(0).beat_overruns, 1u);
  EXPECT_EQ(counts.models.at(0).steps_over_budget, 2u);
}

TEST(Accountant, SumsIdleTimeByTheReasonWorkWaitedFor) {
  const auto counts = after({event(10, IdleWhileWorkWaits{ModelIndex(0), milliseconds(7), WaitReason::kBlocks}),
                             event(20, IdleWhileWorkWaits{ModelIndex(0), milliseconds(5), WaitReason::kBlocks})});
  EXPECT_EQ(counts.models.at(0).idle_while_waiting[static_cast<int>(WaitReason::kBlocks)], milliseconds(12));
}

// What a batch window costs (seconds) and brings (rows beside another one).
TEST(Accountant, CountsWhomAWindowHeldForHowLongAndWhatItGathered) {
  Accountant accountant({"model"});
  const auto seat_after = [](int ms, std::uint64_t id, int held_ms) {
    Seated what{RequestId(id), 0, 0, {}};
    what.waited[static_cast<std::size_t>(WaitReason::kWindow)] = std::chrono::milliseconds(held_ms);
    what.waited[static_cast<std::size_t>(WaitReason::kSeat)] = std::chrono::milliseconds(500);
    return event(ms, what);
  };
  for (std::uint64_t id = 1; id <= 6; ++id) accountant.apply(accepted(0, id));
  accountant.apply(seat_after(20, 1, 20));  // three start together
  accountant.apply(seat_after(20, 2, 12));
  accountant.apply(seat_after(20, 3, 1));
  accountant.apply(seat_after(50, 4, 9));  // one alone: held in vain
  accountant.apply(seat_after(50, 5, 0));  // and one that was not held
  accountant.apply(seat_after(90, 4, 9));  // again after a preemption: its wait is told once more
  const WindowCounts window = accountant.snapshot(at_ms(100)).models[0].window;
  EXPECT_EQ(window.held, 4U);
  EXPECT_EQ(window.waited, std::chrono::milliseconds(42));
  EXPECT_EQ(window.added, 2U);
}

TEST(Accountant, KeepsLabelsFewWhateverClassesAreNamed) {
  Accountant accountant({"model"});
  for (std::uint64_t id = 0; id < 1000; ++id)
    accountant.apply(accepted(0, id, 10, labels("class-" + std::to_string(id))));
  const auto counts = accountant.snapshot(at_ms(0));
  ASSERT_EQ(counts.classes.size(), Accountant::kMaxClasses + 1);
  EXPECT_EQ(counts.classes.back().service_class, "other");
  EXPECT_EQ(counts.classes.back().started, 1000u - Accountant::kMaxClasses);
}

TEST(Accountant, IgnoresEventsOfRequestsAndModelsItNeverSaw) {
  const auto counts = after({admitted(1, 9), token(2, 9), choice_finished(3, 9), closed(4, 9), token(5, 9, 7),
                             event(6, IdleWhileWorkWaits{ModelIndex(5), milliseconds(1), WaitReason::kSeat})});
  EXPECT_TRUE(counts.classes.empty());
}

TEST(BusyWindow, IsTheShareOfTheLastMinute) {
  BusyWindow window;
  EXPECT_EQ(window.share(at_ms(0)), 0.0);
  // Half of every second, for two minutes.
  for (int second = 0; second < 120; ++second) window.add(at_ms(second * 1000 + 500), milliseconds(500));
  EXPECT_NEAR(window.share(at_ms(120000)), 0.5, 0.01);
  EXPECT_NEAR(window.share(at_ms(150000)), 0.25, 0.02);
  EXPECT_EQ(window.share(at_ms(181000)), 0.0);
}

TEST(BusyWindow, YoungerThanAMinuteItIsTheShareSinceTheFirstStep) {
  BusyWindow window;
  window.add(at_ms(10250), milliseconds(250));
  EXPECT_NEAR(window.share(at_ms(10250)), 1.0, 1e-9);
  EXPECT_NEAR(window.share(at_ms(10500)), 0.5, 1e-9);
}

TEST(BusyWindow, ALongStepIsSpreadOverTheSecondsItTook) {
  BusyWindow window;
  window.add(at_ms(70000), std::chrono::seconds(70));
  EXPECT_NEAR(window.share(at_ms(70000)), 1.0, 0.02);
  EXPECT_NEAR(window.share(at_ms(100000)), 0.5, 0.03);
}

}  // namespace
}  // namespace takt::metrics
