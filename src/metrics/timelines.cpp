#include "metrics/timelines.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <variant>

#include "base/log.h"

namespace takt::metrics {

void Timelines::publish(const std::vector<Event>& events) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    for (const Event& event : events) apply(event);
  } catch (const std::exception& error) {
    spdlog::error("a timeline was lost: {}", error.what());
  }
}

void Timelines::apply(const Event& event) {
  if (const auto* accepted = std::get_if<Accepted>(&event.what)) {
    alive_.try_emplace(accepted->request, event.at, *accepted);
    return;
  }
  std::visit(
      [&](const auto& what) {
        if constexpr (requires(TimelineBuilder & builder) { builder.on(event.at, what); }) {
          const auto found = alive_.find(what.request);
          if (found == alive_.end()) return;
          found->second.on(event.at, what);
          if (!found->second.timeline().over()) return;
          retire(what.request, found->second);
          alive_.erase(what.request);
        }
      },
      event.what);
}

void Timelines::retire(RequestId request, const TimelineBuilder& builder) {
  if (keep_ == 0) return;
  if (ended_.size() < keep_) {
    ended_.push_back(builder.timeline());
    ended_at_[request] = ended_.size() - 1;
    return;
  }
  ended_at_.erase(ended_[next_].request);
  ended_[next_] = builder.timeline();
  ended_at_[request] = next_;
  next_ = (next_ + 1) % keep_;
}

std::optional<Timeline> Timelines::find(RequestId request, TimePoint now) const {
  const std::lock_guard lock(mutex_);
  if (const auto alive = alive_.find(request); alive != alive_.end()) return alive->second.as_of(now);
  const auto ended = ended_at_.find(request);
  if (ended == ended_at_.end()) return std::nullopt;
  return ended_[ended->second];
}

std::vector<Timeline> Timelines::slowest(std::size_t most, TimePoint now) const {
  Ages ages;
  {
    const std::lock_guard lock(mutex_);
    ages.reserve(alive_.size() + ended_.size());
    add_ages_of_alive(ages, now);
    for (const Timeline& timeline : ended_) ages.emplace_back(timeline.age(now), timeline.request);
  }
  return longest(std::move(ages), most, now);
}

std::vector<Timeline> Timelines::alive(std::size_t most, TimePoint now) const {
  Ages ages;
  {
    const std::lock_guard lock(mutex_);
    ages.reserve(alive_.size());
    add_ages_of_alive(ages, now);
  }
  std::vector<Timeline> timelines = longest(std::move(ages), most, now);
  std::erase_if(timelines, [](const Timeline& timeline) { return timeline.over(); });  // since its age was looked at
  return timelines;
}

std::size_t Timelines::alive_count() const {
  const std::lock_guard lock(mutex_);
  return alive_.size();
}

void Timelines::add_ages_of_alive(Ages& ages, TimePoint now) const {
  for (const auto& [id, builder] : alive_) ages.emplace_back(builder.timeline().age(now), id);
}

std::vector<Timeline> Timelines::longest(Ages ages, std::size_t most, TimePoint now) const {
  const auto end = ages.begin() + static_cast<std::ptrdiff_t>(std::min(most, ages.size()));
  std::partial_sort(ages.begin(), end, ages.end(), std::greater<>());
  std::vector<Timeline> timelines;
  for (auto age = ages.begin(); age != end; ++age) {
    if (auto timeline = find(age->second, now)) timelines.push_back(std::move(*timeline));
  }
  return timelines;
}

}  // namespace takt::metrics
