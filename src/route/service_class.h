// Service classes: what kind of work a request is, which tier serves it and what was promised to whoever waits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/request.h"

namespace takt::route {

struct ServiceClass {
  std::string name;
  Tier tier = Tier::kRealtime;
  ServiceTargets targets;
};

// voice, code, chat, agent: realtime; background, index: batch.
const std::vector<ServiceClass>& service_classes();
// Null: there is none of that name.
const ServiceClass* find_service_class(std::string_view name);
// For messages: "voice, code, ...".
std::string service_class_names();

}  // namespace takt::route
