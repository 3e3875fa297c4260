#include "serve/worker_pool.h"

#include <algorithm>
#include <utility>

#include "base/thread_name.h"

namespace takt::serve {

WorkerPool::WorkerPool(const char* name, int threads, std::size_t max_queued) : jobs_(max_queued) {
  for (int i = 0; i < std::max(threads, 1); ++i) threads_.emplace_back([this, name] { work(name); });
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

void WorkerPool::work(const char* name) {
  name_this_thread(name);
  while (auto job = jobs_.pop()) {
    (*job)();
    std::lock_guard lock(mutex_);
    if (--unfinished_ == 0) idle_.notify_all();
  }
}

}  // namespace takt::serve
