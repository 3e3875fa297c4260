#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace takt {
namespace {

TEST(ThreadPool, RunsEveryItemExactlyOnce) {
  for (int threads = 1; threads <= 4; ++threads) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (std::size_t items : {0u, 1u, 2u, 3u, 100u, 1000u}) {
      std::vector<std::atomic<int>> hits(items);
      pool.run(items, [&](std::size_t i, int worker) {
        EXPECT_GE(worker, 0);
        EXPECT_LT(worker, threads);
        hits[i].fetch_add(1);
      });
      for (auto& h : hits) EXPECT_EQ(h.load(), 1);
    }
  }
}

TEST(ThreadPool, RunsEveryNeighbourExactlyOnce) {
  for (int threads = 1; threads <= 5; ++threads) {
    ThreadPool pool(threads);
    for (std::size_t items : {0u, 1u, 2u, 3u, 7u, 100u, 1001u}) {
      std::vector<std::atomic<int>> hits(items);
      pool.run_neighbours(items, [&](std::size_t i, int worker) {
        EXPECT_GE(worker, 0);
        EXPECT_LT(worker, threads);
        hits[i].fetch_add(1);
      });
      for (auto& h : hits) EXPECT_EQ(h.load(), 1);
    }
  }
}

TEST(ThreadPool, ManyShortRunsOfNeighboursInARow) {
  ThreadPool pool(4);
  std::atomic<long> sum{0};
  for (int round = 0; round < 2000; ++round)
    pool.run_neighbours(13, [&](std::size_t i, int) { sum += static_cast<long>(i); });
  EXPECT_EQ(sum.load(), 2000L * 78);
}

// The caller's first item ends only when all others are done: those of its own run have to be taken over.
TEST(ThreadPool, TheNeighboursOfAThreadThatIsHeldUpAreTakenOver) {
  ThreadPool pool(2);
  constexpr std::size_t kItems = 64;
  for (int round = 0; round < 20; ++round) {
    std::atomic<std::size_t> done{0};
    std::atomic<bool> held{false};
    pool.run_neighbours(kItems, [&](std::size_t, int worker) {
      if (worker == 0 && !held.exchange(true)) {
        while (done.load() < kItems - 1) std::this_thread::yield();
      }
      done.fetch_add(1);
    });
    EXPECT_EQ(done.load(), kItems);
  }
}

TEST(ThreadPool, CountsTheTimeOnItemsWhenAsked) {
  for (const int threads : {1, 2}) {
    ThreadPool pool(threads);
    const auto run = [&pool] {
      const TimePoint start = SteadyClock().now();
      pool.run(2, [](std::size_t, int) {
        const TimePoint begin = SteadyClock().now();
        while (SteadyClock().now() == begin) std::this_thread::yield();
      });
      return SteadyClock().now() - start;
    };
    run();
    EXPECT_EQ(pool.busy(), Duration(0));
    pool.count_busy(true);
    const Duration took = run();
    EXPECT_GT(pool.busy(), Duration(0));
    EXPECT_LE(pool.busy(), took * threads);
  }
}

TEST(ThreadPool, ManyShortRunsInARow) {
  ThreadPool pool(3);
  std::atomic<long> sum{0};
  for (int round = 0; round < 5000; ++round) pool.run(5, [&](std::size_t i, int) { sum += static_cast<long>(i); });
  EXPECT_EQ(sum.load(), 5000L * 10);
}

// Far more workers than cores: most come too late for a run, and none of them may touch its task afterwards.
TEST(ThreadPool, WorkersThatComeTooLateTouchNoItem) {
  ThreadPool pool(24);
  for (int round = 0; round < 2000; ++round) {
    std::vector<int> hits(3, 0);
    {
      const std::function<void(std::size_t, int)> task = [&hits](std::size_t i, int) { ++hits[i]; };
      pool.run(hits.size(), task);
    }
    ASSERT_EQ(hits, std::vector<int>(3, 1));
  }
}

}  // namespace
}  // namespace takt
