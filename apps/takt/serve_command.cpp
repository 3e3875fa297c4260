// `takt serve`.
#include <CLI/CLI.hpp>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "commands.h"
#include "config/server_config.h"
#include "config/settings.h"
#include "inference_server.h"
#include "launch.h"
#include "route/local_time.h"
#include "runtime_config.h"
#include "setting_argument.h"
#include "stall_watch.h"
#include "start_report.h"
#include "stop_signals.h"

namespace takt::app {
namespace {

struct Flag {
  const char* name;
  const char* key;
  const char* help;
};

constexpr Flag kFlags[] = {
    {"--host", "http.host", "Address to listen on"},
    {"--port", "http.port", "Port to listen on; 0: any free one"},
    {"--api-key-file", "auth.api_key_file", "File with one API key a line"},
    {"--preset", "scheduler.preset", "Mode of batching (docs/scheduling.md)"},
    {"--step-target-ms", "scheduler.step_target_ms", "Longest step while streams run"},
    {"--max-sequences", "scheduler.max_sequences", "Sequences that run at once"},
    {"--threads", "compute.threads", "Compute threads; 0: the cores there are"},
    {"--kv-type", "compute.kv_type", "Format of the KV cache: f16, f32 or q8_0"},
    {"--kv-bytes", "compute.kv_bytes", "Size of the KV cache"},
    {"--kv-blocks", "compute.kv_blocks", "Size of the KV cache in blocks"},
    {"--drain-seconds", "server.drain_seconds", "How long running answers may finish after SIGTERM"},
    {"--metrics-compat", "server.metrics_compat", "Metrics also under the names of another server: vllm"},
    {"--swap-path", "kv.swap_path", "Directory for the KV memory of preempted requests (docs/operating.md)"},
    {"--swap-bytes", "kv.swap_bytes", "Size of the swap arena; without --swap-path it is in memory"},
    {"--step-log", "server.step_log", "Write what is planned in each step to this file (takt steps)"},
    {"--capture", "capture.folder", "Write down every request, without its text, in this folder (takt trace)"},
    {"--capture-days", "capture.days", "How long what is captured is kept"},
    {"--log-level", "server.log_level", "trace, debug, info, warning, error, critical or off"},
};

struct ServeArguments {
  std::optional<std::string> config_file;
  std::array<std::optional<std::string>, std::size(kFlags)> flag_values;
  std::vector<std::string> models;
  std::vector<std::string> api_keys;
  std::vector<std::string> admin_keys;
  std::vector<std::string> settings;  // KEY=VALUE
  bool no_auth = false;
  bool capture_text = false;
  bool no_repack = false;
  bool strict = false;
  bool print_config = false;
};

// In the order in which a later one wins.
Result<config::Settings> settings_of(const ServeArguments& arguments) {
  using Kind = config::Setting::Kind;
  config::Settings settings;
  for (const auto& text : arguments.settings) {
    auto setting = read_setting(text);
    if (!setting) return setting.error();
    settings.push_back(std::move(*setting));
  }
  for (std::size_t i = 0; i < std::size(kFlags); ++i) {
    if (!arguments.flag_values[i]) continue;
    // An unset variable of a script must not mean the default.
    if (arguments.flag_values[i]->empty()) return Error::invalid(kFlags[i].name, "must not be empty");
    settings.push_back({kFlags[i].key, Kind::kText, *arguments.flag_values[i], "flag", {}, kFlags[i].name});
  }
  const std::pair<const char*, const std::vector<std::string>&> lists[] = {{"server.models", arguments.models},
                                                                           {"auth.api_keys", arguments.api_keys},
                                                                           {"auth.admin_keys", arguments.admin_keys}};
  for (const auto& [key, values] : lists) {
    if (!values.empty()) settings.push_back({key, Kind::kValue, config::Value(values), "flag"});
  }
  const std::pair<const char*, bool> switches[] = {
      {"auth.no_auth", arguments.no_auth}, {"capture.text", arguments.capture_text}, {"api.strict", arguments.strict}};
  for (const auto& [key, on] : switches) {
    if (on) settings.push_back({key, Kind::kValue, config::Value(true), "flag"});
  }
  if (arguments.no_repack) settings.push_back({"compute.repack", Kind::kValue, config::Value(false), "flag"});
  return settings;
}

constexpr Duration kWatchEvery = std::chrono::seconds(1);

// Running answers may finish; a second signal ends the process at once.
ExitCode drain(InferenceServer& server, Duration limit) {
  constexpr Duration kLook = std::chrono::milliseconds(50);
  spdlog::info("draining: running answers have {:.0f} s; a second signal ends them", to_seconds(limit));
  server.begin_drain(limit);
  const auto over = server.clock().now() + limit;
  const auto deadline = over + std::chrono::seconds(5);
  const auto done = [&] { return server.wait_until_drained(kLook) && server.wait_until_sent(kLook); };
  while (!done() && server.clock().now() < deadline) {
    if (server.clock().now() >= over) server.refuse_waiting();
    if (stop_signals_received() < 2) continue;
    spdlog::warn("ended at once by a second signal");
    server.cut();
    std::_Exit(static_cast<int>(ExitCode::kDone));
  }
  server.stop();
  spdlog::info("stopped");
  // A prompt that is still being worked on has nobody left to answer.
  if (!server.wait_until_drained(Duration::zero())) std::_Exit(static_cast<int>(ExitCode::kDone));
  return ExitCode::kDone;
}

ExitCode serve(RuntimeConfig& runtime) {
  // Its own copy: from attach() on another thread may put a new configuration in the place of this one.
  const config::ServerConfig started = runtime.config();
  catch_stop_signals();
  auto launched = launch(started, &runtime, stdout);
  if (const auto* failure = std::get_if<LaunchFailure>(&launched)) return fail(failure->code, failure->error);
  InferenceServer& server = *std::get<0>(launched);
  loading_is_done();
  runtime.attach(server);
  StartReport(stdout).ready(started, server);
  StallWatch watch(server);
  while (!wait_for_signal(0, kWatchEvery)) {
    if (take_hangup()) runtime.reload();
    runtime.look_at_clock();
    watch.look();
  }
  runtime.detach();
  return drain(server, runtime.drain());
}

ExitCode run_serve(const ServeArguments& arguments) {
  auto flags = settings_of(arguments);
  if (!flags) return fail(ExitCode::kUsage, flags.error());
  auto runtime = RuntimeConfig::read(arguments.config_file, std::move(*flags));
  if (!runtime) {
    const bool key_file = runtime.error().code == ErrorCode::kIo && runtime.error().field == "auth.api_key_file";
    return fail(key_file ? ExitCode::kFile : ExitCode::kUsage, runtime.error());
  }
  const config::ServerConfig& config = (*runtime)->config();
  if (const Status zone = route::set_time_zone(config.process.time_zone); !zone)
    return fail(ExitCode::kUsage, zone.error());
  if (arguments.print_config) return print(config::print_config((*runtime)->options()));
  set_up_logging(config.process.log_level);
  return serve(**runtime);
}

}  // namespace

void add_serve_command(CLI::App& app, ChosenCommand& chosen) {
  auto* command = app.add_subcommand("serve", "Serve models over an OpenAI-compatible API");
  auto arguments = std::make_shared<ServeArguments>();
  command
      ->add_option("--model", arguments->models,
                   "GGUF file, name known to takt pull, or fake:SCRIPT; may be given again")
      ->allow_extra_args(false);
  config::ServerConfig defaults;
  config::OptionTable known = config::bind_options(defaults);
  for (std::size_t i = 0; i < std::size(kFlags); ++i) {
    auto* flag = command->add_option(kFlags[i].name, arguments->flag_values[i],
                                     std::string(kFlags[i].help) + " (" + kFlags[i].key + ")");
    const config::Option* option = known.find(kFlags[i].key);
    const std::string value = option == nullptr ? std::string() : config::to_toml(option->get());
    if (value != "\"\"") flag->default_str(value);
  }
  command->add_option("--api-key", arguments->api_keys, "Key that clients must send; may be given again")
      ->allow_extra_args(false);
  command->add_option("--admin-key", arguments->admin_keys, "Key that may use /admin/* too; may be given again")
      ->allow_extra_args(false);
  command->add_flag("--no-auth", arguments->no_auth, "Serve other machines without a key");
  command->add_flag("--capture-text", arguments->capture_text, "Capture prompts and answers too");
  command->add_flag("--no-repack", arguments->no_repack,
                    "Weights stay in the file and are read in every step: little memory, slow (docs/configuration.md)");
  command->add_flag("--strict", arguments->strict, "Refuse unknown fields in requests");
  command->add_option("--config", arguments->config_file, "TOML file (docs/configuration.md)");
  command->add_option("--set", arguments->settings, "Any option as KEY=VALUE; may be given again")
      ->allow_extra_args(false);
  command->add_flag("--print-config", arguments->print_config,
                    "Print the effective configuration and where it came from");
  command->callback([&chosen, arguments] { chosen = [arguments] { return run_serve(*arguments); }; });
}

}  // namespace takt::app
