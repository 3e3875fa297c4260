// The events of one turn, published together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "core/event.h"

namespace takt {

class EventLog {
 public:
  // `with_batch`: what a request gets after its admission is held back until release(), as where a batch's answers
  // leave together.
  EventLog(std::vector<EventSink*> sinks, bool with_batch) : sinks_(std::move(sinks)), with_batch_(with_batch) {}

  // Whether answers of requests that are admitted from now on leave with their batch. What was held back happens now.
  void leave_with_batch(bool with_batch, TimePoint now) {
    if (!with_batch) release(now);
    with_batch_ = with_batch;
  }

  // Room for so many events: adding them does not allocate.
  void reserve(std::size_t more) {
    make_room(events_, more);
    if (with_batch_) make_room(held_, more);
  }

  template <typename What>
  void add(TimePoint at, What&& what) {
    using Kind = std::decay_t<What>;
    if (with_batch_) {
      if constexpr (std::is_same_v<Kind, Admitted>) members_.insert(what.request);
      if constexpr (kBelongsToAnAnswer<Kind>) {
        if (members_.contains(what.request)) {
          held_.push_back({at, std::forward<What>(what)});
          return;
        }
      }
    }
    events_.push_back({at, std::forward<What>(what)});
  }

  // The batch is over: its answers happen now.
  void release(TimePoint now) {
    for (Event& event : held_) {
      event.at = now;
      events_.push_back(std::move(event));
    }
    held_.clear();
    members_.clear();
  }

  void publish() noexcept {
    if (events_.empty()) return;
    for (EventSink* sink : sinks_) sink->publish(events_);
    for (Event& event : events_) {
      if (auto* step = std::get_if<StepCommitted>(&event.what)) spare_plan_ = std::move(step->plan);
    }
    events_.clear();
  }

  // That of the step that was published last: its lists have the memory that the next plan needs.
  StepPlan take_spare_plan() noexcept { return std::exchange(spare_plan_, {}); }

 private:
  // Grows as a list does that is filled one by one.
  static void make_room(std::vector<Event>& events, std::size_t more) {
    const std::size_t wanted = events.size() + more;
    if (wanted > events.capacity()) events.reserve(std::max(wanted, 2 * events.capacity()));
  }

  template <typename Kind>
  static constexpr bool kBelongsToAnAnswer = std::is_same_v<Kind, TokenSampled> || std::is_same_v<Kind, PromptScored> ||
                                             std::is_same_v<Kind, ChoiceFinished> || std::is_same_v<Kind, Closed>;

  std::vector<EventSink*> sinks_;
  bool with_batch_;
  std::vector<Event> events_;
  std::vector<Event> held_;
  std::unordered_set<RequestId> members_;
  StepPlan spare_plan_;
};

}  // namespace takt
