// A few threads with a bounded queue of jobs before them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/bounded_queue.h"
#include "base/clock.h"

namespace takt::serve {

class WorkerPool {
 public:
  // `name`: of its threads, see base/thread_name.h; a literal.
  WorkerPool(const char* name, int threads, std::size_t max_queued);
  // Jobs that were taken are finished, queued ones too.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False when the queue is full; the job is then not run. A job must not throw.
  bool post(std::function<void()> job);
  // Waits until no job is queued or running; false when that took longer.
  bool wait_until_idle(Duration limit) const;

  // How long what is queued or running now will take, from the time that jobs took lately; 0 before the first.
  Duration predicted_drain() const;

 private:
  void work(const char* name);

  BoundedQueue<std::function<void()>> jobs_;
  mutable std::mutex mutex_;
  mutable std::condition_variable idle_;
  std::size_t unfinished_ = 0;
  Duration job_time_{0};  // of recent jobs, smoothed
  const int thread_count_;
  std::vector<std::thread> threads_;
};

}  // namespace takt::serve
