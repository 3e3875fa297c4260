#include "config/server_config.h"

namespace takt::config {

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

}  // namespace takt::config
