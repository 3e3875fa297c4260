#include "config/config_sources.h"

#include <algorithm>
#include <map>
#include <utility>

#include "config/presets.h"

namespace takt::config {
namespace {

bool belongs_to_list(const std::string& key, const std::string& list) {
  return key == list || key.starts_with(list + ".");
}

std::string shown(const Option& option) {
  const Value value = option.get();
  if (!option.secret) return to_toml(value);
  return std::to_string(std::get<std::vector<std::string>>(value).size()) + " set";
}

// "class.NAME.hours.1" of an option there; empty for others.
std::string_view hours_of(const Option& option) {
  const std::string_view entry = section_of(option.key);
  return name_in_section(section_of(entry)) == "hours" ? entry : std::string_view();
}

// Hours that name no setting would change nothing. Before they are completed.
Status check_hours_say_something(const OptionTable& options) {
  std::map<std::string_view, bool> says_something;
  for (const Option& option : options.options()) {
    const std::string_view hours = hours_of(option);
    const std::string_view name = name_in_section(option.key);
    if (hours.empty() || name == "from" || name == "to" || name == "days") continue;
    says_something[hours] |= option.origin != "default";
  }
  for (const auto& [hours, something] : says_something) {
    if (something) continue;
    return Error::invalid(std::string(hours), "names no setting of the class: nothing would be different then");
  }
  return {};
}

// What hours do not name is what the class has.
void complete_hours(OptionTable& options) {
  for (Option& option : options.options()) {
    if (option.origin != "default") continue;
    const std::string_view hours = hours_of(option);
    if (hours.empty()) continue;
    const std::string_view of_class = section_of(section_of(hours));
    const Option* whole_day = options.find(std::string(of_class) + "." + std::string(name_in_section(option.key)));
    if (whole_day == nullptr) continue;
    option.set(whole_day->get());
    option.origin = "class";
  }
}

// The class's tier holds at any hour.
void complete_tiers(route::RouteOptions& route) {
  for (route::ClassOptions& service_class : route.classes) {
    for (route::ClassHours& hours : service_class.hours) hours.settings.limits.tier = service_class.always.limits.tier;
  }
}

}  // namespace

Settings with_change(Settings posted, const Settings& change) {
  for (const Setting& setting : change) {
    const bool list = setting.kind == Setting::Kind::kNewList;
    std::erase_if(posted, [&](const Setting& old) {
      return old.key == setting.key || (list && belongs_to_list(old.key, setting.key)) ||
             (setting.kind == Setting::Kind::kForget && belongs_to_list(old.key, setting.key));
    });
  }
  for (const Setting& setting : change) {
    if (setting.kind != Setting::Kind::kForget) posted.push_back(setting);
  }
  return posted;
}

Status check_change(const Settings& change, const OptionTable& in_force) {
  bool says_something = false;
  for (const Setting& setting : change) says_something |= setting.kind != Setting::Kind::kSection;
  if (!says_something) {
    for (const Setting& setting : change) {
      if (Status there = in_force.check_section(setting.key); !there) return there;
    }
    return Error::invalid("", "The change names no option");
  }
  for (const Setting& setting : change) {
    if (setting.kind != Setting::Kind::kForget || in_force.find(setting.key) != nullptr) continue;
    if (in_force.has_section(setting.key) || in_force.is_list(setting.key)) continue;
    return in_force.misfit(setting.key, "null");
  }
  return {};
}

Result<std::unique_ptr<LoadedConfig>> load(const ConfigSources& sources) {
  auto loaded = std::make_unique<LoadedConfig>();
  for (const Settings* settings : {&sources.file, &sources.flags, &sources.posted}) {
    if (Status applied = apply_settings(*settings, loaded->options); !applied) return applied.error();
  }
  if (Status applied = apply_preset(loaded->config.preset, loaded->options); !applied) return applied.error();
  const Status hours = check_hours_say_something(loaded->options);
  complete_hours(loaded->options);
  complete_tiers(loaded->config.route);
  if (Status sound = check(loaded->config); !sound) return sound.error();
  if (!hours) return hours.error();
  return loaded;
}

std::vector<OptionChange> differences(const OptionTable& before, const OptionTable& after) {
  std::map<std::string, const Option*> old;
  for (const Option& option : before.options()) old.emplace(option.key, &option);
  std::vector<OptionChange> changes;
  for (const Option& option : after.options()) {
    const auto known = old.find(option.key);
    if (known == old.end()) {
      if (option.origin != "default" && option.origin != "class")
        changes.push_back({option.key, {}, shown(option), option.run_time});
      continue;
    }
    if (known->second->get() != option.get())
      changes.push_back({option.key, shown(*known->second), shown(option), option.run_time});
    old.erase(known);
  }
  for (const auto& [key, option] : old) {
    if (option->origin != "default" && option->origin != "class")
      changes.push_back({key, shown(*option), {}, option->run_time});
  }
  return changes;
}

}  // namespace takt::config
