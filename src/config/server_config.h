// Everything `takt serve` can be told, gathered from every component's own options.
#pragma once

#include <string>

#include "base/result.h"
#include "config/option_table.h"
#include "config/process_options.h"
#include "engine/options.h"
#include "exec/cpu/options.h"
#include "http/options.h"
#include "route/options.h"
#include "serve/options.h"
#include "trace/options.h"

namespace takt::config {

struct ServerConfig {
  std::string preset = "continuous-chunked";  // see presets.h
  ProcessOptions process;
  AuthOptions auth;
  CpuExecutorOptions compute;  // max_sequences is sched's
  http::ServerOptions http;
  serve::ServeOptions serve;  // with the API's limits
  EngineOptions engine;       // with the scheduler's and KV's; the same for every model
  trace::CaptureOptions capture;
  route::RouteOptions route;  // its keys come from auth
};

// Every option by its key. `config` outlives the table, stays where it is, and has no class and no rule yet but the
// built-in classes.
OptionTable bind_options(ServerConfig& config);

// Limits that contradict each other, each with its reason (A19), and doors left open (F18). Errors: kInvalidArgument,
// field = the key to change.
Status check(const ServerConfig& config);

// Whether only this machine can reach the address.
bool is_loopback(const std::string& host);

// The effective values as a TOML file, each with where it came from. Secrets are counted, not shown.
std::string print_config(const OptionTable& options);
// The same as JSON: {"options": {KEY: {"value", "origin", "run_time"}}}; run_time: it can change while the server runs.
std::string print_config_json(const OptionTable& options, std::uint64_t generation);

}  // namespace takt::config
