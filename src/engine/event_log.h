// The events of one turn, published together.
#pragma once

#include <utility>
#include <vector>

#include "core/event.h"

namespace takt {

class EventLog {
 public:
  explicit EventLog(std::vector<EventSink*> sinks) : sinks_(std::move(sinks)) {}

  // Room for so many events: adding them does not allocate.
  void reserve(std::size_t more) { events_.reserve(events_.size() + more); }

  template <typename What>
  void add(TimePoint at, What&& what) {
    events_.push_back({at, std::forward<What>(what)});
  }

  void publish() noexcept {
    if (events_.empty()) return;
    for (EventSink* sink : sinks_) sink->publish(events_);
    events_.clear();
  }

 private:
  std::vector<EventSink*> sinks_;
  std::vector<Event> events_;
};

}  // namespace takt
