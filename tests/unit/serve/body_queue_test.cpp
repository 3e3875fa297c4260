// What waits for a text worker is worked on, or is taken out and answered: never both, never neither.
#include "serve/body_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>

namespace takt::serve {
namespace {

ServeOptions one_worker() {
  ServeOptions options;
  options.text_threads = 1;
  options.max_queued_body_bytes = 100;
  return options;
}

// F17: at the end of a drain they get an answer, though the worker is busy.
TEST(BodyQueue, WhatNoWorkerHasBegunWithCanBeTakenOut) {
  std::promise<void> gate;
  const std::shared_future<void> opened = gate.get_future().share();
  std::promise<void> begun;
  std::atomic<int> worked{0};
  BodyQueue queue(one_worker());
  ASSERT_TRUE(queue.post(std::make_shared<Exchange>(), 10, [&] {
    begun.set_value();
    opened.wait();
    ++worked;
  }));
  begun.get_future().wait();
  const auto second = std::make_shared<Exchange>();
  const auto third = std::make_shared<Exchange>();
  for (const auto& exchange : {second, third}) ASSERT_TRUE(queue.post(exchange, 10, [&] { ++worked; }));
  const auto taken = queue.take_waiting();
  EXPECT_EQ(taken.size(), 2U);
  EXPECT_TRUE(queue.take_waiting().empty());
  gate.set_value();
  EXPECT_TRUE(queue.wait_until_idle(std::chrono::seconds(20)));
  EXPECT_EQ(worked.load(), 1);
  ASSERT_TRUE(queue.post(second, 100, [&] { ++worked; }));  // the bytes of those taken out are free again
  EXPECT_TRUE(queue.wait_until_idle(std::chrono::seconds(20)));
  EXPECT_EQ(worked.load(), 2);
}

TEST(BodyQueue, RefusesWhatDoesNotFitAndForgetsIt) {
  BodyQueue queue(one_worker());
  EXPECT_FALSE(queue.post(std::make_shared<Exchange>(), 101, [] { FAIL(); }));
  EXPECT_TRUE(queue.take_waiting().empty());
}

TEST(BodyQueue, EachRequestIsEitherWorkedOnOrTakenOut) {
  std::atomic<int> worked{0};
  int taken = 0;
  constexpr int kRequests = 2000;
  {
    BodyQueue queue(one_worker());
    std::atomic<bool> posted{false};
    std::thread taker([&] {
      while (!posted.load()) taken += static_cast<int>(queue.take_waiting().size());
    });
    for (int i = 0; i < kRequests; ++i) {
      while (!queue.post(std::make_shared<Exchange>(), 1, [&] { ++worked; })) std::this_thread::yield();
    }
    posted.store(true);
    taker.join();
  }
  EXPECT_EQ(worked.load() + taken, kRequests);
}

}  // namespace
}  // namespace takt::serve
