#include "measure/latency.h"

#include <gtest/gtest.h>

namespace takt::measure {
namespace {

using std::chrono::milliseconds;

TimePoint at(int ms) {
  return TimePoint(milliseconds(ms));
}

AnswerTimes arrived(int scheduled_ms, int sent_ms) {
  AnswerTimes times;
  times.scheduled = at(scheduled_ms);
  times.sent = at(sent_ms);
  return times;
}

TEST(Latency, TimeToFirstTokenRunsFromTheScheduledArrivalNotFromTheSend) {
  auto times = arrived(100, 130);
  EXPECT_FALSE(time_to_first_token(times));
  EXPECT_FALSE(note_tokens(times, at(400)));
  EXPECT_EQ(time_to_first_token(times), milliseconds(300));
  EXPECT_EQ(send_lag(times), milliseconds(30));
}

TEST(Latency, TokensThatArriveTogetherMakeOneGapThatIsNotSpread) {
  auto times = arrived(0, 0);
  EXPECT_FALSE(note_tokens(times, at(10), 3));
  EXPECT_EQ(note_tokens(times, at(50), 4), milliseconds(40));
  EXPECT_EQ(note_tokens(times, at(60)), milliseconds(10));
  EXPECT_EQ(times.worst_gap, milliseconds(40));
  EXPECT_EQ(times.tokens, 8u);
}

TEST(Latency, TimePerOutputTokenDividesByTheTokensAfterTheFirst) {
  auto times = arrived(0, 0);
  note_tokens(times, at(100));
  EXPECT_FALSE(time_per_output_token(times)) << "undefined for one token";
  note_tokens(times, at(130));
  note_tokens(times, at(200));
  EXPECT_EQ(time_per_output_token(times), milliseconds(50));
}

TEST(Latency, NormalizedTimePerOutputTokenDividesTheWholeWayByAllTokens) {
  auto times = arrived(0, 0);
  note_tokens(times, at(100));
  note_tokens(times, at(200));
  EXPECT_FALSE(normalized_time_per_output_token(times)) << "still running";
  times.end = at(220);
  EXPECT_EQ(end_to_end(times), milliseconds(220));
  EXPECT_EQ(normalized_time_per_output_token(times), milliseconds(110));
}

TEST(Latency, AnAnswerWithoutTokensHasAnEndAndNothingElse) {
  auto times = arrived(5, 5);
  times.end = at(45);
  EXPECT_EQ(end_to_end(times), milliseconds(40));
  EXPECT_FALSE(time_to_first_token(times));
  EXPECT_FALSE(time_per_output_token(times));
  EXPECT_FALSE(normalized_time_per_output_token(times));
}

}  // namespace
}  // namespace takt::measure
