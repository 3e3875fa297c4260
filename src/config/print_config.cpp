#include <boost/json.hpp>

#include "config/server_config.h"

namespace takt::config {
namespace {

namespace json = boost::json;

json::value to_json(const Value& value) {
  return std::visit([](const auto& held) { return json::value_from(held); }, value);
}

}  // namespace

std::string print_config(const OptionTable& options) {
  std::string text;
  std::string section;
  for (const Option& option : options.options()) {
    const auto dot = option.key.find('.');
    if (const auto here = option.key.substr(0, dot); here != section) {
      if (!section.empty()) text += '\n';
      text += '[';
      text += here;
      text += "]\n";
      section = here;
    }
    const std::string name = option.key.substr(dot + 1);
    if (option.secret) {
      const auto count = std::get<std::vector<std::string>>(option.get()).size();
      text += "# " + name + ": " + std::to_string(count) + " set, not shown; " + option.origin + "\n";
    } else {
      text += name + " = " + to_toml(option.get()) + "  # " + option.origin + "\n";
    }
  }
  return text;
}

std::string print_config_json(const OptionTable& options) {
  json::object all;
  for (const Option& option : options.options()) {
    json::object& entry = all[option.key].emplace_object();
    if (option.secret) {
      entry["count"] = std::get<std::vector<std::string>>(option.get()).size();
    } else {
      entry["value"] = to_json(option.get());
    }
    entry["origin"] = option.origin;
  }
  return json::serialize(json::object{{"options", std::move(all)}});
}

}  // namespace takt::config
