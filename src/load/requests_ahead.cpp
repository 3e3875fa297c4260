#include "load/requests_ahead.h"

#include <utility>

namespace takt::load {
namespace {

constexpr std::size_t kAheadRequests = 512;
constexpr std::size_t kAheadBytes = std::size_t{32} << 20;

}  // namespace

void RequestsAhead::fill(const std::function<bool(const PlannedRequest& first)>& first_is_due) {
  while (source_ != nullptr && !ended_ && ready_.size() < kAheadRequests && bytes_ < kAheadBytes) {
    auto next = source_->next();
    if (!next || !*next) {
      if (!next) error_ = next.error();
      ended_ = true;
      return;
    }
    ReadyRequest ready{std::move(**next), {}};
    ready.body = body_of_(ready.plan);
    bytes_ += ready.body.size();
    ready_.push_back(std::move(ready));
    if (ready_.size() > 1 && first_is_due(first())) return;
  }
}

ReadyRequest RequestsAhead::take() {
  ReadyRequest ready = std::move(ready_.front());
  ready_.pop_front();
  bytes_ -= ready.body.size();
  return ready;
}

}  // namespace takt::load
