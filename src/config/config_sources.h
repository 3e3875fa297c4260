// What a configuration is made of, and the whole configuration made from it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "config/option_table.h"
#include "config/server_config.h"
#include "config/settings.h"

namespace takt::config {

// A later source wins; the defaults come before all. A preset, wherever it was named, gives every option its value
// there that no source gives.
struct ConfigSources {
  Settings file;
  Settings flags;
  Settings posted;  // by administrators since the start or the last reload
};

// The posted settings with another change: a key has one value, a list is posted as a whole, what is to be forgotten is
// gone.
Settings with_change(Settings posted, const Settings& change);

// Whether a change says something, and what it takes back is there. Errors: kInvalidArgument.
Status check_change(const Settings& change, const OptionTable& in_force);

// The table is bound to the configuration beside it.
struct LoadedConfig {
  ServerConfig config;
  OptionTable options = bind_options(config);
};

// Errors: those of apply_settings() and check(); hours of a class that name none of its settings.
Result<std::unique_ptr<LoadedConfig>> load(const ConfigSources& sources);

// An option that has another value now.
struct OptionChange {
  std::string key;
  std::string before;  // as TOML writes it; secrets: how many; empty: the option was not there
  std::string after;
  bool run_time = false;
};
std::vector<OptionChange> differences(const OptionTable& before, const OptionTable& after);

// {"generation", "changed": {KEY: {"before", "after"}}}, the values as TOML writes them.
std::string print_changes_json(const std::vector<OptionChange>& changes, std::uint64_t generation);

}  // namespace takt::config
