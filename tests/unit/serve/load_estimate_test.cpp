#include "serve/load_estimate.h"

#include <gtest/gtest.h>

#include <chrono>

namespace takt::serve {
namespace {

using std::chrono::seconds;

class LoadEstimateTest : public ::testing::Test {
 protected:
  void accept(std::uint64_t id) {
    Accepted event;
    event.request = RequestId(id);
    load.on(clock.now(), event);
  }
  void admit(std::uint64_t id) { load.on(clock.now(), Admitted{RequestId(id), 0}); }
  void close(std::uint64_t id) {
    Closed event;
    event.request = RequestId(id);
    load.on(clock.now(), event);
  }
  std::size_t position(std::uint64_t id) const {
    const auto place = load.place_of(RequestId(id));
    return place ? place->position : 0;
  }
  std::uint32_t retry_after(const char* code, std::uint32_t otherwise = 1) const {
    api::ApiError error;
    error.code = code;
    error.retry_after_seconds = otherwise;
    load.predict_retry(error);
    return error.retry_after_seconds;
  }

  ManualClock clock;
  LoadEstimate load{clock};
};

// H10
TEST_F(LoadEstimateTest, APlaceInTheQueueMovesUpAsThoseBeforeItLeave) {
  for (std::uint64_t id = 1; id <= 4; ++id) accept(id);
  EXPECT_EQ(position(1), 1u);
  EXPECT_EQ(position(4), 4u);
  admit(1);
  EXPECT_EQ(position(1), 0u) << "it waits no more";
  EXPECT_EQ(position(4), 3u);
  close(3);
  EXPECT_EQ(position(4), 2u);
  EXPECT_EQ(position(5), 0u);
}

TEST_F(LoadEstimateTest, ThePredictedWaitFollowsPlaceSeatsAndMeasuredTime) {
  accept(1);
  EXPECT_FALSE(load.place_of(RequestId(1))->predicted) << "nothing is known yet";
  accept(100);
  admit(1);
  clock.advance(seconds(10));
  EXPECT_FALSE(load.place_of(RequestId(100))->predicted) << "nor by how long the first one has run so far";
  EXPECT_EQ(retry_after("queue_full"), 1u);
  close(1);
  close(100);
  for (std::uint64_t id = 2; id <= 5; ++id) accept(id);
  admit(2);
  admit(3);
  EXPECT_EQ(load.place_of(RequestId(4))->predicted, seconds(5)) << "two run for ten seconds each";
  EXPECT_EQ(load.place_of(RequestId(5))->predicted, seconds(10));
  clock.advance(seconds(20));
  EXPECT_EQ(load.place_of(RequestId(5))->predicted, seconds(20)) << "those that run take longer than the last ones did";
}

// A18: when to come back is predicted, within bounds.
TEST_F(LoadEstimateTest, RetryAfterIsThePredictedDrainTimeOfTheQueue) {
  EXPECT_EQ(retry_after("queue_full"), 1u) << "nothing is known yet";
  accept(1);
  admit(1);
  clock.advance(seconds(4));
  close(1);
  EXPECT_EQ(retry_after("queue_full"), 4u);
  EXPECT_EQ(retry_after("rate_limit_exceeded"), 4u);
  for (std::uint64_t id = 2; id <= 8; ++id) accept(id);
  admit(2);
  EXPECT_EQ(retry_after("queue_full"), 28u) << "six wait and one comes";
  EXPECT_EQ(retry_after("queue_wait_expired"), 28u);
  EXPECT_EQ(retry_after("rate_limit_exceeded"), 4u);
  for (std::uint64_t id = 9; id <= 100; ++id) accept(id);
  EXPECT_EQ(retry_after("queue_full"), 60u);
  EXPECT_EQ(retry_after("draining", 5), 5u) << "not a question of the queue";
  EXPECT_EQ(retry_after("invalid_value", 0), 0u);
}

TEST_F(LoadEstimateTest, RetryAfterIsAtLeastASecond) {
  accept(1);
  admit(1);
  clock.advance(std::chrono::milliseconds(3));
  close(1);
  EXPECT_EQ(retry_after("queue_full"), 1u);
}

}  // namespace
}  // namespace takt::serve
