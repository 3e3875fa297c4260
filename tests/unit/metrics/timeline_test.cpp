// A request's life as spans, from scripted events.
#include "metrics/timeline.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <numeric>

#include "metrics/timeline_json.h"
#include "metrics/timelines.h"
#include "unit/metrics/event_script.h"

namespace takt::metrics {
namespace {

using std::chrono::milliseconds;

WaitTimes waited(WaitReason reason, int ms) {
  WaitTimes times{};
  times[static_cast<std::size_t>(reason)] = milliseconds(ms);
  return times;
}

Event seated(int ms, std::uint64_t id, std::uint32_t ready, WaitTimes times, std::uint32_t choice = 0) {
  return event(ms, Seated{RequestId(id), choice, ready, times});
}

Event delivered(int ms, std::uint64_t id, AnswerOutcome outcome = AnswerOutcome::kAnswered) {
  return event(ms, Delivered{RequestId(id), outcome});
}

std::vector<std::string> story(const Timeline& timeline) {
  std::vector<std::string> lines;
  for (const Span& span : timeline.spans) {
    const auto ms = [&](TimePoint at) { return std::to_string((at - timeline.arrival) / milliseconds(1)); };
    lines.push_back(std::string(to_string(span.kind)) + " " + ms(span.from) + "-" + ms(span.to) + " " +
                    std::to_string(span.tokens));
  }
  return lines;
}

using Story = std::vector<std::string>;

TEST(Timeline, FollowsARequestThroughQueuePrefillPreemptionAndSending) {
  Timelines timelines(8);
  auto arrival = accepted(100, 1, 10);
  std::get<Accepted>(arrival.what).arrival = at_ms(95);
  timelines.publish({arrival, event(400, Admitted{RequestId(1), 4}), seated(400, 1, 4, waited(WaitReason::kSeat, 300)),
                     token(500, 1), token(520, 1)});
  timelines.publish({event(530, Preempted{RequestId(1), 0, 12, Tier::kRealtime, waited(WaitReason::kSeat, 300)})});
  WaitTimes both = waited(WaitReason::kSeat, 300);
  both[static_cast<std::size_t>(WaitReason::kBlocks)] = milliseconds(170);
  timelines.publish({seated(700, 1, 0, both), token(730, 1)});
  timelines.publish({choice_finished(750, 1), closed(750, 1), delivered(760, 1)});
  const auto timeline = timelines.find(RequestId(1), at_ms(9999));
  ASSERT_TRUE(timeline);
  EXPECT_EQ(story(*timeline),
            (Story{"preparing 0-5 0", "queued 5-305 0", "prefill 305-405 6", "decode 405-435 2", "preempted 435-605 12",
                   "prefill 605-635 12", "decode 635-655 1", "sending 655-665 0"}));
  EXPECT_EQ(timeline->spans[1].reasons, waited(WaitReason::kSeat, 300));
  EXPECT_EQ(timeline->spans[4].reasons, waited(WaitReason::kBlocks, 170));
  EXPECT_EQ(timeline->worst_gap, milliseconds(210));
  EXPECT_EQ(timeline->output_tokens, 3u);
  EXPECT_EQ(timeline->preemptions, 1u);
  EXPECT_TRUE(timeline->over());
  EXPECT_EQ(timeline->age(at_ms(9999)), milliseconds(665));
}

TEST(Timeline, WhoKeptItsBlocksGoesOnWithoutPrefill) {
  Timelines timelines(8);
  timelines.publish({accepted(0, 1, 10), seated(0, 1, 0, {}), token(10, 1),
                     event(20, Preempted{RequestId(1), 0, 0, Tier::kRealtime, {}}), seated(50, 1, 10, {})});
  EXPECT_EQ(story(*timelines.find(RequestId(1), at_ms(60))),
            (Story{"preparing 0-0 0", "queued 0-0 0", "prefill 0-10 10", "decode 10-20 1", "preempted 20-50 0",
                   "decode 50-60 0"}));
}

TEST(Timeline, ASwappedRequestIsSwappedUntilItIsBackOrLost) {
  Timelines timelines(8);
  const Preempted swapped{RequestId(1), 0, 0, Tier::kRealtime, {}, 10};
  timelines.publish({accepted(0, 1, 10), seated(0, 1, 0, {}), token(10, 1), event(20, swapped), seated(50, 1, 10, {}),
                     token(55, 1), event(60, swapped), event(70, SwapLost{RequestId(1), 0, 9}), seated(90, 1, 2, {})});
  EXPECT_EQ(story(*timelines.find(RequestId(1), at_ms(100))),
            (Story{"preparing 0-0 0", "queued 0-0 0", "prefill 0-10 10", "decode 10-20 1", "swapped 20-50 10",
                   "decode 50-60 1", "preempted 60-90 9", "prefill 90-100 10"}));
}

// It lost its seat first, and more of it while it waited: what became of it last counts, and all that it gave up.
TEST(Timeline, WhatIsTakenFromAWaitingRequestShows) {
  Timelines timelines(8);
  const auto waits_as = [&](std::uint64_t id, const TailTaken& taken) {
    timelines.publish({accepted(0, id, 100), seated(0, id, 0, {}), token(10, id),
                       event(20, Preempted{RequestId(id), 0, 0, Tier::kBatch, {}}), event(30, taken)});
    const Span span = timelines.find(RequestId(id), at_ms(60))->spans.back();
    EXPECT_EQ(span.in_favour_of, Tier::kRealtime);
    return std::string(to_string(span.kind)) + " " + std::to_string(span.tokens);
  };
  EXPECT_EQ(waits_as(1, {RequestId(1), 0, 0, 32, Tier::kRealtime}), "swapped 32");
  EXPECT_EQ(waits_as(2, {RequestId(2), 0, 48, 0, Tier::kRealtime}), "preempted 48");
  timelines.publish({event(40, TailTaken{RequestId(1), 0, 16, 0, Tier::kRealtime})});
  EXPECT_EQ(timelines.find(RequestId(1), at_ms(60))->spans.back().tokens, 48U) << "the arena's part is given up too";
  EXPECT_EQ(timelines.find(RequestId(1), at_ms(60))->preemptions, 1U);
}

TEST(Timeline, IsReadableWhileTheRequestWaits) {
  Timelines timelines(8);
  timelines.publish({accepted(0, 1, 10)});
  const auto timeline = timelines.find(RequestId(1), at_ms(2000));
  ASSERT_TRUE(timeline);
  EXPECT_EQ(story(*timeline), (Story{"preparing 0-0 0", "queued 0-2000 0"}));
  EXPECT_EQ(timeline->age(at_ms(2000)), milliseconds(2000));
}

TEST(Timeline, EveryChoiceHasItsSpansAndTheAnswerIsSentOnce) {
  Timelines timelines(8);
  timelines.publish({accepted(0, 1, 10, labels("chat"), 2), seated(0, 1, 0, {}), token(10, 1, 0),
                     seated(20, 1, 9, waited(WaitReason::kSibling, 20), 1), token(30, 1, 1), choice_finished(40, 1),
                     choice_finished(60, 1, FinishReason::kLength, 1), closed(60, 1, FinishReason::kLength),
                     delivered(61, 1)});
  const auto timeline = timelines.find(RequestId(1), at_ms(100));
  ASSERT_TRUE(timeline);
  EXPECT_EQ(story(*timeline), (Story{"preparing 0-0 0", "queued 0-0 0", "prefill 0-10 10", "queued 0-20 0",
                                     "prefill 20-30 1", "decode 10-40 1", "decode 30-60 1", "sending 60-61 0"}));
}

TEST(Timeline, ACancelledRequestEndsWhereItWas) {
  Timelines timelines(8);
  timelines.publish({accepted(0, 1), delivered(50, 1, AnswerOutcome::kClientGone)});
  ASSERT_TRUE(timelines.find(RequestId(1), at_ms(60)));
  timelines.publish({choice_finished(70, 1, FinishReason::kCancelled), closed(70, 1, FinishReason::kCancelled)});
  const auto timeline = timelines.find(RequestId(1), at_ms(999));
  ASSERT_TRUE(timeline);
  EXPECT_EQ(story(*timeline), (Story{"preparing 0-0 0", "queued 0-70 0"}));
  EXPECT_TRUE(timeline->over());
  EXPECT_EQ(timeline->outcome, AnswerOutcome::kClientGone);
}

TEST(Timeline, ItsSizeHasABoundHoweverOftenItIsPreempted) {
  Timelines timelines(8);
  timelines.publish({accepted(0, 1, 10), seated(0, 1, 0, {})});
  for (int i = 0; i < 5000; ++i) {
    timelines.publish({token(i * 10 + 2, 1), event(i * 10 + 4, Preempted{RequestId(1), 0, 3, Tier::kRealtime, {}}),
                       seated(i * 10 + 8, 1, 0, {})});
  }
  timelines.publish({choice_finished(50000, 1), closed(50000, 1), delivered(50000, 1)});
  const auto timeline = timelines.find(RequestId(1), at_ms(0));
  ASSERT_TRUE(timeline);
  EXPECT_EQ(timeline->spans.size(), Timeline::kMaxSpans);
  EXPECT_EQ(timeline->spans.size() + timeline->spans_left_out, 5000u * 3 + 4);
  const Duration all = std::accumulate(timeline->totals.begin(), timeline->totals.end(), Duration::zero());
  EXPECT_EQ(all, milliseconds(50000)) << "what is left out is still in the totals";
}

TEST(Timelines, KeepsTheLastOnesAndForgetsTheRest) {
  Timelines timelines(3);
  for (std::uint64_t id = 1; id <= 10; ++id) {
    timelines.publish({accepted(0, id), closed(static_cast<int>(id), id), delivered(static_cast<int>(id), id)});
  }
  EXPECT_FALSE(timelines.find(RequestId(7), at_ms(99)));
  for (std::uint64_t id = 8; id <= 10; ++id) EXPECT_TRUE(timelines.find(RequestId(id), at_ms(99))) << id;
  const auto slowest = timelines.slowest(2, at_ms(99));
  ASSERT_EQ(slowest.size(), 2u);
  EXPECT_EQ(slowest[0].request, RequestId(10));
  EXPECT_EQ(slowest[1].request, RequestId(9));
}

TEST(Timelines, WhoStillWaitsIsAmongTheSlowest) {
  Timelines timelines(3);
  timelines.publish({accepted(0, 1), closed(50, 1), delivered(50, 1), accepted(0, 2)});
  const auto slowest = timelines.slowest(10, at_ms(100));
  ASSERT_EQ(slowest.size(), 2u);
  EXPECT_EQ(slowest[0].request, RequestId(2));
}

TEST(Timelines, OfThoseAliveTheOldestComeFirst) {
  Timelines timelines(3);
  timelines.publish({accepted(0, 1), accepted(2, 2), accepted(1, 3), accepted(3, 4), closed(50, 1), delivered(50, 1)});
  EXPECT_EQ(timelines.alive_count(), 3u);
  const auto alive = timelines.alive(2, at_ms(100));
  ASSERT_EQ(alive.size(), 2u);
  EXPECT_EQ(alive[0].request, RequestId(3));
  EXPECT_EQ(alive[1].request, RequestId(2));
}

TEST(Timelines, OfNoneKeptOnlyThoseAliveAreKnown) {
  Timelines timelines(0);
  timelines.publish({accepted(0, 1)});
  EXPECT_TRUE(timelines.find(RequestId(1), at_ms(1)));
  timelines.publish({closed(5, 1), delivered(5, 1)});
  EXPECT_FALSE(timelines.find(RequestId(1), at_ms(9)));
  EXPECT_TRUE(timelines.slowest(5, at_ms(9)).empty());
}

// H10
TEST(TimelineJson, SaysWhereItStandsInTheQueueAndWhy) {
  Timelines timelines(3);
  timelines.publish({accepted(0, 0xABC, 12)});
  TimelineContext context{at_ms(1500), {}, [](RequestId id) { return "r" + std::to_string(id.value); }, {}};
  context.place_of = [](const Timeline&) { return QueuePlace{3, std::chrono::seconds(12), WaitReason::kBlocks}; };
  const auto body =
      boost::json::parse(timeline_json(*timelines.find(RequestId(0xABC), context.now), context)).as_object();
  EXPECT_EQ(body.at("id"), "r2748");
  EXPECT_EQ(body.at("state"), "queued");
  EXPECT_EQ(body.at("queue").at("position").to_number<int>(), 3);
  EXPECT_DOUBLE_EQ(body.at("queue").at("starts_in_seconds").to_number<double>(), 12.0);
  EXPECT_EQ(body.at("queue").at("reason"), "blocks");
  EXPECT_TRUE(body.at("ttft_seconds").is_null());
  EXPECT_DOUBLE_EQ(body.at("total_seconds").to_number<double>(), 1.5);
}

}  // namespace
}  // namespace takt::metrics
