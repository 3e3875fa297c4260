#include "serve/load_estimate.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace takt::serve {

namespace {

// Weight of the newest request in the smoothed running time.
constexpr int kRunSmoothing = 8;

}  // namespace

std::uint32_t retry_seconds(Duration wait) {
  constexpr double kLongest = 60.0;
  return static_cast<std::uint32_t>(std::clamp(std::ceil(to_seconds(wait)), 1.0, kLongest));
}

void LoadEstimate::on(TimePoint, const Accepted& event) {
  const std::lock_guard lock(mutex_);
  const Turn turn{event.labels.tier, accepted_++};
  waiting_[turn] = event.request;
  waiting_place_[event.request] = turn;
}

void LoadEstimate::on(TimePoint at, const Admitted& event) {
  const std::lock_guard lock(mutex_);
  const auto place = waiting_place_.find(event.request);
  if (place == waiting_place_.end()) return;
  waiting_.erase(place->second);
  waiting_place_.erase(place);
  running_[event.request] = at;
}

void LoadEstimate::on(TimePoint at, const Closed& event) {
  const std::lock_guard lock(mutex_);
  if (const auto place = waiting_place_.find(event.request); place != waiting_place_.end()) {
    waiting_.erase(place->second);
    waiting_place_.erase(place);
  }
  const auto run = running_.find(event.request);
  if (run == running_.end()) return;
  const Duration took = at - run->second;
  run_time_ = run_time_ ? *run_time_ + (took - *run_time_) / kRunSmoothing : took;
  running_.erase(run);
}

std::optional<LoadEstimate::Place> LoadEstimate::place_of(RequestId request) const {
  const std::lock_guard lock(mutex_);
  const auto place = waiting_place_.find(request);
  if (place == waiting_place_.end()) return std::nullopt;
  const auto ahead = std::distance(waiting_.begin(), waiting_.find(place->second));
  const std::size_t position = static_cast<std::size_t>(ahead) + 1;
  return Place{position, until_admitted(position)};
}

// What recent requests took, or what those that run have taken so far when that is more. Nothing before one has ended:
// how long the first ones have run says nothing of how long they will.
std::optional<Duration> LoadEstimate::running_time(TimePoint now) const {
  if (!run_time_ || running_.empty()) return run_time_;
  Duration so_far{0};
  for (const auto& [request, since] : running_) so_far += now - since;
  so_far /= static_cast<std::int64_t>(running_.size());
  return std::max(*run_time_, so_far);
}

// Little's law: as many requests end in a running time as run.
std::optional<Duration> LoadEstimate::until_admitted(std::size_t position) const {
  const auto time = running_time(clock_.now());
  if (!time) return std::nullopt;
  return *time * static_cast<std::int64_t>(position) /
         static_cast<std::int64_t>(std::max<std::size_t>(running_.size(), 1));
}

void LoadEstimate::predict_retry(api::ApiError& error) const {
  if (error.retry_after_seconds == 0) return;
  std::optional<Duration> wait;
  {
    const std::lock_guard lock(mutex_);
    if (error.code == "rate_limit_exceeded") {
      wait = running_time(clock_.now());
    } else if (error.code == "queue_full" || error.code == "queue_wait_expired") {
      wait = until_admitted(waiting_.size() + 1);
    }
  }
  if (wait) error.retry_after_seconds = retry_seconds(*wait);
}

}  // namespace takt::serve
