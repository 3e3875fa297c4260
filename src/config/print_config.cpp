#include <boost/json.hpp>

#include "config/config_sources.h"
#include "config/server_config.h"

namespace takt::config {
namespace {

namespace json = boost::json;

// Hours of a class that do not name it.
constexpr const char* kInherited = "class";

json::value to_json(const Value& value) {
  return std::visit([](const auto& held) { return json::value_from(held); }, value);
}

}  // namespace

std::string print_config(const OptionTable& options) {
  std::string text;
  std::string section;
  for (const Option& option : options.options()) {
    if (option.origin == kInherited) continue;
    if (const std::string here(section_of(option.key)); here != section) {
      if (!section.empty()) text += '\n';
      const std::string list(section_of(here));
      text += options.is_list(list) ? "[[" + list + "]]\n" : "[" + here + "]\n";
      section = here;
    }
    const std::string name(name_in_section(option.key));
    if (option.secret) {
      const auto count = std::get<std::vector<std::string>>(option.get()).size();
      text += "# " + name + ": " + std::to_string(count) + " set, not shown; " + option.origin + "\n";
    } else {
      text += name + " = " + to_toml(option.get()) + "  # " + option.origin + "\n";
    }
  }
  return text;
}

std::string print_config_json(const OptionTable& options, std::uint64_t generation) {
  json::object all;
  for (const Option& option : options.options()) {
    if (option.origin == kInherited) continue;
    json::object& entry = all[option.key].emplace_object();
    if (option.secret) {
      entry["count"] = std::get<std::vector<std::string>>(option.get()).size();
    } else {
      entry["value"] = to_json(option.get());
    }
    entry["origin"] = option.origin;
    entry["run_time"] = option.run_time;
  }
  return json::serialize(json::object{{"generation", generation}, {"options", std::move(all)}});
}

std::string print_changes_json(const std::vector<OptionChange>& changes, std::uint64_t generation) {
  json::object all;
  for (const OptionChange& change : changes) {
    json::object& entry = all[change.key].emplace_object();
    entry["before"] = change.before.empty() ? json::value(nullptr) : json::value(change.before);
    entry["after"] = change.after.empty() ? json::value(nullptr) : json::value(change.after);
  }
  return json::serialize(json::object{{"generation", generation}, {"changed", std::move(all)}});
}

}  // namespace takt::config
