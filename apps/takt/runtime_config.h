// The configuration of a running server: read at the start, read again on SIGHUP, changed by administrators, and at the
// hours of the day that classes name.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config_sources.h"
#include "route/options.h"
#include "serve/config_source.h"

namespace takt::app {

// Seconds since 1970.
using WallClock = std::function<std::int64_t()>;
std::int64_t system_unix_seconds();

// What a configuration is applied to. Takes all of it or, with an error, nothing.
class Configurable {
 public:
  virtual ~Configurable() = default;
  virtual Status reconfigure(const config::ServerConfig& config, std::int64_t unix_seconds) = 0;
};

// Safe to use from several threads.
class RuntimeConfig final : public serve::ConfigSource {
 public:
  // Reads the files. Errors: those of config::load and of the key file (kIo: it cannot be read).
  static Result<std::unique_ptr<RuntimeConfig>> read(std::optional<std::string> file, config::Settings flags,
                                                     WallClock wall_clock = system_unix_seconds);

  // In force, with the keys. Of a server that runs: only until the next change.
  const config::ServerConfig& config() const { return loaded_->config; }
  const config::OptionTable& options() const { return loaded_->options; }
  Duration drain() const;

  // From here on changes go to `server`, which outlives this object or detach().
  void attach(Configurable& server);
  void detach();

  // SIGHUP: the file and the key file as they are now, and nothing that was posted: what a restart would give. Logged;
  // what is in force stays when that cannot be.
  void reload();
  // To be called every second or so: applies the hours of classes when others hold than before.
  void look_at_clock();

  std::string effective() const override;
  Result<std::string> change(const std::string& body) override;

  serve::ConfigState state() const override;

 private:
  RuntimeConfig(std::optional<std::string> file, WallClock wall_clock)
      : file_(std::move(file)), wall_clock_(std::move(wall_clock)) {}

  void note_change(bool applied);
  static Result<std::unique_ptr<config::LoadedConfig>> load(const config::ConfigSources& sources);
  Result<std::vector<config::OptionChange>> apply(config::ConfigSources sources);
  void keep_to_start(config::LoadedConfig& next) const;
  std::vector<std::string> hours_in_force() const;

  const std::optional<std::string> file_;
  const WallClock wall_clock_;
  mutable std::mutex mutex_;
  config::ConfigSources sources_;
  std::unique_ptr<config::LoadedConfig> loaded_;
  Configurable* server_ = nullptr;
  // The executors were set up for so many: a preset that asks for more gets these.
  std::uint32_t seats_at_start_ = 0;
  std::uint32_t rows_at_start_ = 0;
  serve::ConfigState state_;
  std::vector<std::string> hours_;  // as they were applied last
};

}  // namespace takt::app
