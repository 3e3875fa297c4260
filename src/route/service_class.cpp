#include "route/service_class.h"

#include <algorithm>
#include <chrono>

namespace takt::route {

const std::vector<ServiceClass>& service_classes() {
  using std::chrono::hours;
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  // Batch work has no one waiting beside it: its targets are a day, and so is its patience.
  static const std::vector<ServiceClass> kClasses = {
      {"voice", Tier::kRealtime, {milliseconds(300), milliseconds(60), seconds(2)}},
      {"code", Tier::kRealtime, {milliseconds(300), milliseconds(60), seconds(10)}},
      {"chat", Tier::kRealtime, {seconds(1), milliseconds(100), seconds(30)}},
      {"agent", Tier::kRealtime, {seconds(3), milliseconds(150), seconds(60)}},
      {"background", Tier::kBatch, {hours(24), hours(24), hours(24)}},
      {"index", Tier::kBatch, {hours(24), hours(24), hours(24)}},
  };
  return kClasses;
}

const ServiceClass* find_service_class(std::string_view name) {
  const auto& classes = service_classes();
  const auto found =
      std::find_if(classes.begin(), classes.end(), [&](const ServiceClass& c) { return c.name == name; });
  return found == classes.end() ? nullptr : &*found;
}

std::string service_class_names() {
  std::string names;
  for (const ServiceClass& service_class : service_classes()) {
    if (!names.empty()) names += ", ";
    names += service_class.name;
  }
  return names;
}

}  // namespace takt::route
