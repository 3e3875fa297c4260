#include "base/thread_pool.h"

#include <algorithm>

#include "base/thread_name.h"

namespace takt {
namespace {

// About 20 to 50 us: longer than the gap between two products of a step, far shorter than a scheduler tick.
constexpr int kSpins = 4000;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  for (int i = 1; i < std::max(1, threads); ++i) workers_.emplace_back([this, i] { work(i); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_acq_rel);
  generation_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::take_items(int worker) {
  for (;;) {
    const std::size_t item = next_.fetch_add(1, std::memory_order_relaxed);
    if (item >= items_) return;
    (*task_)(item, worker);
  }
}

void ThreadPool::run(std::size_t items, const std::function<void(std::size_t, int)>& task) {
  if (items == 0) return;
  if (workers_.empty() || items == 1) {
    for (std::size_t i = 0; i < items; ++i) task(i, 0);
    return;
  }
  task_ = &task;
  items_ = items;
  next_.store(0, std::memory_order_relaxed);
  busy_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_acq_rel);
  generation_.notify_all();
  take_items(0);
  for (int spins = 0; busy_.load(std::memory_order_acquire) != 0; ++spins) {
    if (spins < kSpins) {
      relax();
    } else {
      const int left = busy_.load(std::memory_order_acquire);
      if (left != 0) busy_.wait(left, std::memory_order_acquire);
    }
  }
}

void ThreadPool::work(int worker) {
  name_this_thread("takt-compute");
  std::uint32_t seen = 0;
  for (;;) {
    for (int spins = 0; generation_.load(std::memory_order_acquire) == seen && spins < kSpins; ++spins) relax();
    generation_.wait(seen, std::memory_order_acquire);
    seen = generation_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_acquire)) return;
    take_items(worker);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

}  // namespace takt
