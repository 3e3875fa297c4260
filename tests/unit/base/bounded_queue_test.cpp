#include "base/bounded_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace takt {
namespace {

TEST(BoundedQueue, RefusesBeyondItsCapacityAndLeavesTheValueAlone) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  EXPECT_TRUE(queue.try_push(std::make_unique<int>(1)));
  auto second = std::make_unique<int>(2);
  EXPECT_FALSE(queue.try_push(std::move(second)));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(*second, 2);
}

TEST(BoundedQueue, CloseWakesAWaitingConsumerAfterTheRestIsDrained) {
  BoundedQueue<int> queue(4);
  EXPECT_TRUE(queue.try_push(1));
  std::vector<int> got;
  std::thread consumer([&] {
    while (auto item = queue.pop()) got.push_back(*item);
  });
  EXPECT_TRUE(queue.try_push(2));
  queue.close();
  consumer.join();
  EXPECT_EQ(got, (std::vector<int>{1, 2}));
  EXPECT_FALSE(queue.try_push(3));
}

}  // namespace
}  // namespace takt
