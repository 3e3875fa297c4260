// The timelines of the requests that are alive and of the last that ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/event.h"
#include "metrics/timeline.h"

namespace takt::metrics {

// Safe to use from any thread. A reader holds the lock only while it copies one timeline, or looks over the ages of
// those that are kept; it is meant to be published to from another thread than the engine's.
class Timelines final : public EventSink {
 public:
  // Keeps so many requests that ended. 0: none.
  explicit Timelines(std::size_t keep) : keep_(keep) {}

  void publish(const std::vector<Event>& events) noexcept override;

  // As of `now`; empty when the request is not known or no longer kept.
  std::optional<Timeline> find(RequestId request, TimePoint now) const;
  // Those that took longest, alive or not, the longest first.
  std::vector<Timeline> slowest(std::size_t most, TimePoint now) const;
  // Those that are alive, the oldest first.
  std::vector<Timeline> alive(std::size_t most, TimePoint now) const;
  std::size_t alive_count() const;

 private:
  void apply(const Event& event);
  void retire(RequestId request, const TimelineBuilder& builder);
  using Ages = std::vector<std::pair<Duration, RequestId>>;
  void add_ages_of_alive(Ages& ages, TimePoint now) const;
  std::vector<Timeline> longest(Ages ages, std::size_t most, TimePoint now) const;

  const std::size_t keep_;
  mutable std::mutex mutex_;
  std::unordered_map<RequestId, TimelineBuilder> alive_;
  std::vector<Timeline> ended_;  // a ring
  std::size_t next_ = 0;         // of the ring: to be overwritten
  std::unordered_map<RequestId, std::size_t> ended_at_;
};

}  // namespace takt::metrics
