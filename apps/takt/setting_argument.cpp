#include "setting_argument.h"

namespace takt::app {

Result<config::Setting> read_setting(const std::string& argument) {
  const auto equals = argument.find('=');
  if (equals == std::string::npos) return Error::invalid("--set", "must be KEY=VALUE, not " + argument);
  return config::Setting{argument.substr(0, equals), config::Setting::Kind::kText, argument.substr(equals + 1), "flag"};
}

}  // namespace takt::app
