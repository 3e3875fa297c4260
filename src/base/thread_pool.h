// A persistent team of compute threads for one caller at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace takt {

// run(n, task) calls task(i, worker) for every i in [0, n) exactly once, spread over the team, and returns when all are
// done. Items are taken one by one from a shared counter, so a thread that is held up by another process takes fewer.
// The caller works too and waits only for workers that joined this run: one that is parked, or that another process
// keeps from its core, holds nobody up. Workers spin briefly, then park: idle costs nothing. A task must not throw.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  using Task = std::function<void(std::size_t item, int worker)>;

  // worker is in [0, threads()); 0 is the caller.
  void run(std::size_t items, const Task& task) { run(items, task, Dealing::kShared); }

  // The same, but the items are dealt as a run of neighbours to each thread, which takes them in ascending order: for
  // items whose data lie one after the other. A thread that has done its own takes over the second half of what the
  // slowest has left. At most 2^32 - 1 items.
  void run_neighbours(std::size_t items, const Task& task) { run(items, task, Dealing::kNeighbours); }

  // Whether the time that threads spend on items is counted; only between runs.
  void count_busy(bool on) { counts_busy_ = on; }
  // That time, summed over the threads.
  Duration busy() const { return Duration(busy_ns_.load(std::memory_order_relaxed)); }

 private:
  enum class Dealing : std::uint8_t { kShared, kNeighbours };

  class BusyScope;

  // Items of a thread that nobody has taken: the first in the high half, the end in the low one.
  struct alignas(64) Range {
    std::atomic<std::uint64_t> bounds{0};
  };

  void run(std::size_t items, const Task& task, Dealing dealing);
  void deal(std::size_t items, Dealing dealing);
  void work(int worker);
  void run_here(std::size_t items, const Task& task);
  void take_items(int worker);
  void take_shared(int worker);
  void take_neighbours(int worker);
  bool take_over_half(Range& own);
  bool join(std::uint32_t generation);
  void leave();

  std::vector<std::thread> workers_;
  const Task* task_ = nullptr;
  Dealing dealing_ = Dealing::kShared;
  std::size_t items_ = 0;
  std::atomic<std::size_t> next_{0};          // of kShared
  std::unique_ptr<Range[]> ranges_;           // of kNeighbours, one per thread
  std::atomic<std::uint32_t> generation_{0};  // of the newest run: what workers wait for
  std::atomic<std::uint64_t> run_state_{0};   // generation, whether workers may still join, how many are in
  std::atomic<bool> stop_{false};
  bool counts_busy_ = false;
  std::atomic<std::int64_t> busy_ns_{0};
};

}  // namespace takt
