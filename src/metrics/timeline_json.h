// Timelines as JSON, for GET /admin/requests (docs/api.md).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "core/wait_reason.h"
#include "metrics/timeline.h"

namespace takt::metrics {

// Where a request that is not admitted yet stands.
struct QueuePlace {
  std::size_t position = 0;           // 1: next
  std::optional<Duration> starts_in;  // predicted
  WaitReason reason = WaitReason::kNone;
};

// What the timelines do not know themselves.
struct TimelineContext {
  TimePoint now;
  std::span<const std::string> model_names;  // index = ModelIndex
  std::function<std::string(RequestId)> name_of;
  std::function<std::optional<QueuePlace>(const Timeline&)> place_of;
};

std::string timeline_json(const Timeline& timeline, const TimelineContext& context);
// {"alive": how many there are in all, "requests": [...]}
std::string timelines_json(std::span<const Timeline> timelines, std::size_t alive, const TimelineContext& context);

}  // namespace takt::metrics
