// Requests whose bodies wait for a text worker: bounded in number and bytes, and refused as long as they wait.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "serve/exchange.h"
#include "serve/options.h"
#include "serve/worker_pool.h"

namespace takt::serve {

class BodyQueue {
 public:
  explicit BodyQueue(const ServeOptions& options);
  // What waits is still worked on.
  ~BodyQueue() = default;

  // Runs `work` on a text worker, unless the request is taken out before. False, and nothing happens, when there is no
  // room for it. `work` must not throw.
  bool post(std::shared_ptr<Exchange> exchange, std::size_t bytes, std::function<void()> work);

  // Takes out what no worker has begun with: the caller answers it.
  std::vector<std::shared_ptr<Exchange>> take_waiting();

  bool wait_until_idle(Duration limit) const { return workers_.wait_until_idle(limit); }
  const WorkerPool& workers() const { return workers_; }

 private:
  bool take(const std::shared_ptr<Exchange>& exchange);

  const std::size_t most_bytes_;
  std::atomic<std::size_t> bytes_{0};
  std::mutex mutex_;
  std::unordered_set<std::shared_ptr<Exchange>> waiting_;
  WorkerPool workers_;  // last: its jobs use all of the above
};

}  // namespace takt::serve
