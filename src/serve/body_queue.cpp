#include "serve/body_queue.h"

#include <utility>

namespace takt::serve {

BodyQueue::BodyQueue(const ServeOptions& options)
    : most_bytes_(options.max_queued_body_bytes),
      workers_("takt-text", options.text_threads, options.max_queued_bodies) {}

bool BodyQueue::post(std::shared_ptr<Exchange> exchange, std::size_t bytes, std::function<void()> work) {
  const bool fits = bytes_.fetch_add(bytes) + bytes <= most_bytes_;
  // Under the lock, so that nobody takes out what there turns out to be no room for.
  std::lock_guard lock(mutex_);
  const bool taken = fits && workers_.post([this, exchange, bytes, work = std::move(work)] {
    if (take(exchange)) work();
    bytes_.fetch_sub(bytes);
  });
  if (taken) {
    waiting_.insert(std::move(exchange));
  } else {
    bytes_.fetch_sub(bytes);
  }
  return taken;
}

std::vector<std::shared_ptr<Exchange>> BodyQueue::take_waiting() {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Exchange>> taken(waiting_.begin(), waiting_.end());
  waiting_.clear();
  return taken;
}

bool BodyQueue::take(const std::shared_ptr<Exchange>& exchange) {
  std::lock_guard lock(mutex_);
  return waiting_.erase(exchange) == 1;
}

}  // namespace takt::serve
