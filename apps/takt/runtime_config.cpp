#include "runtime_config.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "open_files.h"
#include "route/class_hours.h"
#include "route/key_ring.h"
#include "route/local_time.h"

namespace takt::app {
namespace {

Result<std::vector<route::ApiKey>> read_keys(const config::AuthOptions& auth) {
  std::vector<route::ApiKey> keys;
  if (!auth.api_key_file.empty()) {
    auto from_file = route::read_key_file(auth.api_key_file);
    if (!from_file) return from_file.error();
    keys = std::move(*from_file);
  }
  const auto add = [&](const std::vector<std::string>& given, const std::string& option, bool admin) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      keys.push_back(
          {.key = given[i], .admin = admin, .where = option + ", key " + std::to_string(i + 1), .option = option});
    }
  };
  add(auth.api_keys, "auth.api_keys", false);
  add(auth.admin_keys, "auth.admin_keys", true);
  return keys;
}

void set_log_level(const std::string& level) {
  spdlog::default_logger_raw()->set_level(spdlog::level::from_str(level));
}

void log_changes(const std::vector<config::OptionChange>& changes) {
  for (const config::OptionChange& change : changes) {
    spdlog::info("configuration: {}: {} -> {}", change.key, change.before.empty() ? "(none)" : change.before,
                 change.after.empty() ? "(none)" : change.after);
  }
}

}  // namespace

std::int64_t system_unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Result<std::unique_ptr<config::LoadedConfig>> RuntimeConfig::load(const config::ConfigSources& sources) {
  auto loaded = config::load(sources);
  if (!loaded) return loaded.error();
  const std::uint64_t files = raise_open_files((*loaded)->config.http.connections + kFilesBesideConnections);
  if (Status fits = fit_connections(**loaded, files); !fits) return fits.error();
  auto keys = read_keys((*loaded)->config.auth);
  if (!keys) return keys.error();
  (*loaded)->config.route.keys = std::move(*keys);
  return loaded;
}

Result<std::unique_ptr<RuntimeConfig>> RuntimeConfig::read(std::optional<std::string> file, config::Settings flags,
                                                           WallClock wall_clock) {
  std::unique_ptr<RuntimeConfig> config(new RuntimeConfig(std::move(file), std::move(wall_clock)));
  if (config->file_) {
    auto settings = config::read_toml_file(*config->file_);
    if (!settings) return settings.error();
    config->sources_.file = std::move(*settings);
  }
  config->sources_.flags = std::move(flags);
  auto loaded = load(config->sources_);
  if (!loaded) return loaded.error();
  config->loaded_ = std::move(*loaded);
  config->seats_at_start_ = config->config().engine.sched.max_sequences;
  config->state_.last_change_unix = config->wall_clock_();
  config->rows_at_start_ = config->config().engine.sched.max_step_tokens;
  return config;
}

Duration RuntimeConfig::drain() const {
  const std::lock_guard lock(mutex_);
  return loaded_->config.process.drain;
}

void RuntimeConfig::attach(Configurable& server) {
  const std::lock_guard lock(mutex_);
  server_ = &server;
}

void RuntimeConfig::detach() {
  const std::lock_guard lock(mutex_);
  server_ = nullptr;
}

serve::ConfigState RuntimeConfig::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

// The caller holds the lock.
void RuntimeConfig::note_change(bool applied) {
  state_.last_change_applied = applied;
  state_.last_change_unix = wall_clock_();
  if (applied) ++state_.generation;
}

void RuntimeConfig::keep_to_start(config::LoadedConfig& next) const {
  const auto keep = [&](const char* key, std::uint32_t most) {
    const config::Option* option = next.options.find(key);
    if (option == nullptr || !option->origin.starts_with("preset ")) return;
    if (std::get<std::int64_t>(option->get()) <= most) return;
    (void)next.options.set(key, config::Value(std::int64_t{most}), option->origin + ", as far as the start allows");
  };
  keep("scheduler.max_sequences", seats_at_start_);
  keep("scheduler.max_step_tokens", rows_at_start_);
}

// The whole of it or nothing; the caller holds the lock.
Result<std::vector<config::OptionChange>> RuntimeConfig::apply(config::ConfigSources sources) {
  if (server_ == nullptr) return Error{ErrorCode::kUnavailable, "The server is not ready for changes.", "not_ready"};
  auto next = load(sources);
  if (!next) return next.error();
  keep_to_start(**next);
  if (Status sound = config::check((*next)->config); !sound) return sound.error();
  auto changes = config::differences(loaded_->options, (*next)->options);
  for (const config::OptionChange& change : changes) {
    if (change.run_time) continue;
    return Error{ErrorCode::kUnsupported,
                 change.key + " cannot change while the server runs, it needs a restart: " + change.before + " -> " +
                     change.after,
                 change.key};
  }
  if (Status taken = server_->reconfigure((*next)->config, wall_clock_()); !taken) return taken.error();
  set_log_level((*next)->config.process.log_level);
  loaded_ = std::move(*next);
  sources_ = std::move(sources);
  hours_ = hours_in_force();
  note_change(true);
  log_changes(changes);
  return changes;
}

void RuntimeConfig::reload() {
  const std::lock_guard lock(mutex_);
  config::ConfigSources sources{sources_.file, sources_.flags, {}};
  if (file_) {
    auto settings = config::read_toml_file(*file_);
    if (!settings) {
      note_change(false);
      spdlog::error("configuration not reloaded, the old one holds: {}", settings.error().message);
      return;
    }
    sources.file = std::move(*settings);
  }
  const auto changes = apply(std::move(sources));
  if (!changes) {
    const Error& error = changes.error();
    note_change(false);
    spdlog::error("configuration not reloaded, the old one holds: {}{}{}", error.field, error.field.empty() ? "" : ": ",
                  error.message);
    return;
  }
  spdlog::info("configuration reloaded: {} options changed, {} keys; generation {}", changes->size(),
               loaded_->config.route.keys.size(), state_.generation);
}

// The classes that have other settings now than always, with the hours that hold.
std::vector<std::string> RuntimeConfig::hours_in_force() const {
  const route::LocalTime now = route::local_time(wall_clock_());
  std::vector<std::string> in_force;
  for (const route::ClassOptions& service_class : loaded_->config.route.classes) {
    for (const route::ClassHours& hours : service_class.hours) {
      if (!route::holds(hours, now)) continue;
      in_force.push_back(service_class.name + " from " + hours.from + " to " + hours.to);
      break;
    }
  }
  return in_force;
}

void RuntimeConfig::look_at_clock() {
  const std::lock_guard lock(mutex_);
  if (server_ == nullptr) return;
  std::vector<std::string> now = hours_in_force();
  if (now == hours_) return;
  if (Status taken = server_->reconfigure(loaded_->config, wall_clock_()); !taken) {
    spdlog::error("the hours of classes cannot be applied: {}", taken.error().message);
  } else {
    std::string text;
    for (const std::string& hours : now) text += (text.empty() ? "" : ", ") + hours;
    spdlog::info("hours of classes in force: {}", text.empty() ? "none" : text);
  }
  hours_ = std::move(now);
}

std::string RuntimeConfig::effective() const {
  const std::lock_guard lock(mutex_);
  return config::print_config_json(loaded_->options, state_.generation);
}

Result<std::string> RuntimeConfig::change(const std::string& body) {
  auto settings = config::parse_change(body);
  if (!settings) return settings.error();
  const std::lock_guard lock(mutex_);
  const Status sound = config::check_change(*settings, loaded_->options);
  const auto changes = sound ? apply({sources_.file, sources_.flags, config::with_change(sources_.posted, *settings)})
                             : Result<std::vector<config::OptionChange>>(sound.error());
  if (!changes) {
    note_change(false);
    spdlog::warn("a change of the configuration was refused: {}: {}", changes.error().field, changes.error().message);
    return changes.error();
  }
  return config::print_changes_json(*changes, state_.generation);
}

}  // namespace takt::app
