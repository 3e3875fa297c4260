// The option --set KEY=VALUE, which several subcommands have.
#pragma once

#include <string>

#include "base/result.h"
#include "config/settings.h"

namespace takt::app {

// Errors: kInvalidArgument, field "--set", when there is no equals sign.
Result<config::Setting> read_setting(const std::string& argument);

}  // namespace takt::app
