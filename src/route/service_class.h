// Service classes: what kind of work a request is, which tier serves it and what was promised to whoever waits.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/service_class.h"
#include "route/local_time.h"
#include "route/options.h"

namespace takt::route {

struct ServiceClass {
  std::string name;
  ClassIndex index = kNoClass;
  ClassSettings settings;  // in force now
  bool retired = false;    // the configuration no longer has it; requests that are under way still belong to it

  const ClassLimits& limits() const { return settings.limits; }
};

// The classes at one moment of the day. Immutable.
class ServiceClasses {
 public:
  // `before`: the table that this one follows; classes keep their index. Null: the first one.
  // Errors: kInvalidArgument, field = "class": more classes than there can be, those that went included.
  static Result<ServiceClasses> create(const std::deque<ClassOptions>& options, const LocalTime& now,
                                       const ServiceClasses* before);

  // Null: there is none of that name.
  const ServiceClass* find(std::string_view name) const;
  // For messages: "voice, code, ...".
  std::string names() const;
  // As engines take them.
  ClassTable engine_table() const;
  const std::vector<ServiceClass>& all() const { return classes_; }

 private:
  std::vector<ServiceClass> classes_;
};

}  // namespace takt::route
