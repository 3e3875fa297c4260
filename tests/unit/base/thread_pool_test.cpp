#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <functional>
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
