// Who waits for admission and how long requests take: what waiting clients and refused ones are told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "api/api_error.h"
#include "base/clock.h"
#include "core/event.h"

namespace takt::serve {

// A predicted wait as Retry-After: whole seconds, from 1 to 60.
std::uint32_t retry_seconds(Duration wait);

// Over all engines: they share one machine. Safe to use from several threads.
class LoadEstimate {
 public:
  // The clock outlives this object.
  explicit LoadEstimate(const Clock& clock) : clock_(clock) {}

  void on(TimePoint at, const Accepted& event);
  void on(TimePoint at, const Admitted& event);
  void on(TimePoint at, const Closed& event);

  struct Place {
    std::size_t position = 0;           // 1: next
    std::optional<Duration> predicted;  // until it is admitted; empty before a request has ended
  };
  // Empty when the request does not wait.
  std::optional<Place> place_of(RequestId request) const;

  // Turns the error's Retry-After into a prediction where the queue or the caller's own requests are what one waits
  // for: until those that wait are admitted (503), or a request has run (429).
  void predict_retry(api::ApiError& error) const;

 private:
  std::optional<Duration> running_time(TimePoint now) const;
  std::optional<Duration> until_admitted(std::size_t position) const;

  const Clock& clock_;
  mutable std::mutex mutex_;
  std::uint64_t accepted_ = 0;
  using Turn = std::pair<Tier, std::uint64_t>;  // realtime first, then in order of acceptance
  std::map<Turn, RequestId> waiting_;
  std::unordered_map<RequestId, Turn> waiting_place_;  // its key there
  std::unordered_map<RequestId, TimePoint> running_;   // since when
  std::optional<Duration> run_time_;                   // of recent requests from admission to end, smoothed
};

}  // namespace takt::serve
