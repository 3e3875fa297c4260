// From a configuration to a server that answers, with what a person should see on the way.
#pragma once

#include <cstdio>
#include <memory>
#include <variant>
#include <vector>

#include "config/server_config.h"
#include "exit_code.h"
#include "inference_server.h"
#include "serve/config_source.h"

namespace takt::app {

struct LaunchFailure {
  ExitCode code;
  Error error;
};

// Listens first, so that a taken port is known at once and /ready tells about the loading; then loads the models and
// starts their engines. What a person should know meanwhile goes to `say_to`. `source` is what administrators see and
// change; null: nothing; it outlives the server.
std::variant<std::unique_ptr<InferenceServer>, LaunchFailure> launch(const config::ServerConfig& config,
                                                                     serve::ConfigSource* source, std::FILE* say_to);

}  // namespace takt::app
