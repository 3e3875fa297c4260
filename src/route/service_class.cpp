#include "route/service_class.h"

#include <algorithm>
#include <chrono>

#include "route/class_hours.h"

namespace takt::route {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

ClassOptions realtime(const char* name, Duration ttft, Duration itl, Duration wait, Duration window) {
  ClassOptions options;
  options.name = name;
  options.always.targets = {ttft, itl, wait, Duration::zero(), window};
  return options;
}

// Batch work has no one waiting beside it: its targets are a day, and so is its patience.
ClassOptions batch(const char* name) {
  constexpr double kMinimumShare = 0.05;
  ClassOptions options;
  options.name = name;
  options.always.targets = {hours(24), hours(24), hours(24), Duration::zero(), seconds(2)};
  options.always.limits.tier = Tier::kBatch;
  options.always.limits.min_share = kMinimumShare;
  return options;
}

}  // namespace

std::deque<ClassOptions> built_in_classes() {
  return {realtime("voice", milliseconds(300), milliseconds(60), seconds(2), Duration::zero()),
          realtime("code", milliseconds(300), milliseconds(60), seconds(10), Duration::zero()),
          realtime("chat", seconds(1), milliseconds(100), seconds(30), milliseconds(20)),
          realtime("agent", seconds(3), milliseconds(150), seconds(60), milliseconds(100)),
          batch("background"),
          batch("index")};
}

Result<ServiceClasses> ServiceClasses::create(const std::deque<ClassOptions>& options, const LocalTime& now,
                                              const ServiceClasses* before) {
  ServiceClasses table;
  if (before != nullptr) table.classes_ = before->classes_;
  for (ServiceClass& known : table.classes_) known.retired = true;
  for (const ClassOptions& option : options) {
    auto place = std::find_if(table.classes_.begin(), table.classes_.end(),
                              [&](const ServiceClass& known) { return known.name == option.name; });
    if (place == table.classes_.end()) {
      const ClassIndex index(static_cast<std::uint32_t>(table.classes_.size()));
      place = table.classes_.insert(place, {option.name, index, {}, false});
    }
    place->settings = in_force(option, now);
    place->retired = false;
  }
  if (table.classes_.size() > kMostClasses) {
    return Error::invalid("class", "there can be " + std::to_string(kMostClasses) +
                                       " classes, those that were there since the start included");
  }
  return table;
}

const ServiceClass* ServiceClasses::find(std::string_view name) const {
  const auto found = std::find_if(classes_.begin(), classes_.end(),
                                  [&](const ServiceClass& known) { return known.name == name && !known.retired; });
  return found == classes_.end() ? nullptr : &*found;
}

std::string ServiceClasses::names() const {
  std::string names;
  for (const ServiceClass& known : classes_) {
    if (known.retired) continue;
    if (!names.empty()) names += ", ";
    names += known.name;
  }
  return names;
}

ClassTable ServiceClasses::engine_table() const {
  ClassTable table;
  for (const ServiceClass& known : classes_) {
    table.push_back({known.settings.limits, known.settings.queue});
    // Nothing is kept for what nobody can ask for any more.
    if (known.retired) table.back().limits.reserved = {};
  }
  return table;
}

}  // namespace takt::route
