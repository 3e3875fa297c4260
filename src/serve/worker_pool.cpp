#include "serve/worker_pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/thread_name.h"

namespace takt::serve {

namespace {

// Weight of the newest job in the smoothed time.
constexpr int kJobSmoothing = 8;

}  // namespace

WorkerPool::WorkerPool(const char* name, int threads, std::size_t max_queued)
    : jobs_(max_queued), thread_count_(std::max(threads, 1)) {
  for (int i = 0; i < thread_count_; ++i) threads_.emplace_back([this, name] { work(name); });
}

WorkerPool::~WorkerPool() {
  jobs_.close();
  for (std::thread& thread : threads_) thread.join();
}

bool WorkerPool::post(std::function<void()> job) {
  std::lock_guard lock(mutex_);
  if (!jobs_.try_push(std::move(job))) return false;
  ++unfinished_;
  return true;
}

bool WorkerPool::wait_until_idle(Duration limit) const {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, limit, [this] { return unfinished_ == 0; });
}

Duration WorkerPool::predicted_drain() const {
  std::lock_guard lock(mutex_);
  return job_time_ * static_cast<std::int64_t>(unfinished_) / thread_count_;
}

void WorkerPool::work(const char* name) {
  name_this_thread(name);
  while (auto job = jobs_.pop()) {
    const auto began = std::chrono::steady_clock::now();
    (*job)();
    const Duration took = std::chrono::steady_clock::now() - began;
    std::lock_guard lock(mutex_);
    job_time_ += (took - job_time_) / kJobSmoothing;
    if (--unfinished_ == 0) idle_.notify_all();
  }
}

}  // namespace takt::serve
