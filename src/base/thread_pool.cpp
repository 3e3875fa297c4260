#include "base/thread_pool.h"

#include <algorithm>

#include "base/thread_name.h"

namespace takt {
namespace {

// About 20 to 50 us: longer than the gap between two products of a step, far shorter than a scheduler tick.
constexpr int kSpins = 4000;

// Of run_state_.
constexpr std::uint64_t kOpen = std::uint64_t{1} << 31U;
constexpr std::uint64_t kJoined = kOpen - 1;
constexpr unsigned kGenerationShift = 32;

// Of Range::bounds.
constexpr unsigned kFirstShift = 32;
constexpr std::uint64_t kOneItem = std::uint64_t{1} << kFirstShift;
constexpr std::uint64_t bounds_of(std::uint64_t first, std::uint64_t end) {
  return first << kFirstShift | end;
}
constexpr std::uint64_t first_of(std::uint64_t bounds) {
  return bounds >> kFirstShift;
}
constexpr std::uint64_t end_of(std::uint64_t bounds) {
  return bounds & (kOneItem - 1);
}
constexpr std::uint64_t left_of(std::uint64_t bounds) {
  return first_of(bounds) < end_of(bounds) ? end_of(bounds) - first_of(bounds) : 0;
}

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");  // as long as x86's pause; most cores do nothing at a yield
#else
  std::this_thread::yield();
#endif
}

}  // namespace

class ThreadPool::BusyScope {
 public:
  explicit BusyScope(ThreadPool& pool) : pool_(pool), start_(pool.counts_busy_ ? SteadyClock().now() : TimePoint()) {}
  ~BusyScope() {
    if (pool_.counts_busy_) pool_.busy_ns_.fetch_add((SteadyClock().now() - start_).count(), std::memory_order_relaxed);
  }
  BusyScope(const BusyScope&) = delete;
  BusyScope& operator=(const BusyScope&) = delete;

 private:
  ThreadPool& pool_;
  TimePoint start_;
};

ThreadPool::ThreadPool(int threads)
    : ranges_(std::make_unique<Range[]>(static_cast<std::size_t>(std::max(1, threads)))) {
  for (int i = 1; i < std::max(1, threads); ++i) workers_.emplace_back([this, i] { work(i); });
}

ThreadPool::~ThreadPool() {
  stop_.store(true, std::memory_order_release);
  generation_.fetch_add(1, std::memory_order_acq_rel);
  generation_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::take_items(int worker) {
  const BusyScope busy(*this);
  if (dealing_ == Dealing::kNeighbours) {
    take_neighbours(worker);
  } else {
    take_shared(worker);
  }
}

void ThreadPool::take_shared(int worker) {
  for (;;) {
    const std::size_t item = next_.fetch_add(1, std::memory_order_relaxed);
    if (item >= items_) return;
    (*task_)(item, worker);
  }
}

void ThreadPool::take_neighbours(int worker) {
  Range& own = ranges_[static_cast<std::size_t>(worker)];
  do {
    for (;;) {
      const std::uint64_t before = own.bounds.fetch_add(kOneItem, std::memory_order_relaxed);
      if (left_of(before) == 0) break;
      (*task_)(first_of(before), worker);
    }
  } while (take_over_half(own));
}

// Only the owner of an empty range fills it, and an item is never dealt twice, so a range that looks unchanged is.
bool ThreadPool::take_over_half(Range& own) {
  for (;;) {
    Range* richest = nullptr;
    std::uint64_t bounds = 0;
    for (int i = 0; i < threads(); ++i) {
      Range& range = ranges_[static_cast<std::size_t>(i)];
      const std::uint64_t seen = range.bounds.load(std::memory_order_relaxed);
      if (left_of(seen) > left_of(bounds)) {
        richest = &range;
        bounds = seen;
      }
    }
    if (richest == nullptr) return false;
    const std::uint64_t middle = end_of(bounds) - (left_of(bounds) + 1) / 2;
    if (richest->bounds.compare_exchange_weak(bounds, bounds_of(first_of(bounds), middle), std::memory_order_relaxed)) {
      own.bounds.store(bounds_of(middle, end_of(bounds)), std::memory_order_relaxed);
      return true;
    }
  }
}

void ThreadPool::deal(std::size_t items, Dealing dealing) {
  dealing_ = dealing;
  items_ = items;
  next_.store(0, std::memory_order_relaxed);
  if (dealing != Dealing::kNeighbours) return;
  const auto parts = static_cast<std::size_t>(threads());
  for (std::size_t i = 0; i < parts; ++i)
    ranges_[i].bounds.store(bounds_of(items * i / parts, items * (i + 1) / parts), std::memory_order_relaxed);
}

void ThreadPool::run_here(std::size_t items, const Task& task) {
  const BusyScope busy(*this);
  for (std::size_t i = 0; i < items; ++i) task(i, 0);
}

void ThreadPool::run(std::size_t items, const Task& task, Dealing dealing) {
  if (items == 0) return;
  if (workers_.empty() || items == 1) return run_here(items, task);
  task_ = &task;
  deal(items, dealing);
  const std::uint32_t generation = generation_.load(std::memory_order_relaxed) + 1;
  run_state_.store((std::uint64_t{generation} << kGenerationShift) | kOpen, std::memory_order_release);
  generation_.store(generation, std::memory_order_release);
  generation_.notify_all();
  take_items(0);
  std::uint64_t state = run_state_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  for (int spins = 0; (state & kJoined) != 0; ++spins) {
    if (spins < kSpins) {
      relax();
    } else {
      run_state_.wait(state, std::memory_order_acquire);
    }
    state = run_state_.load(std::memory_order_acquire);
  }
}

bool ThreadPool::join(std::uint32_t generation) {
  std::uint64_t state = run_state_.load(std::memory_order_acquire);
  while (state >> kGenerationShift == generation && (state & kOpen) != 0) {
    if (run_state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel, std::memory_order_acquire))
      return true;
  }
  return false;
}

void ThreadPool::leave() {
  const std::uint64_t before = run_state_.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & kOpen) == 0 && (before & kJoined) == 1) run_state_.notify_one();
}

void ThreadPool::work(int worker) {
  name_this_thread("takt-compute");
  std::uint32_t seen = 0;
  for (;;) {
    for (int spins = 0; generation_.load(std::memory_order_acquire) == seen && spins < kSpins; ++spins) relax();
    generation_.wait(seen, std::memory_order_acquire);
    seen = generation_.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_acquire)) return;
    if (!join(seen)) continue;
    take_items(worker);
    leave();
  }
}

}  // namespace takt
