// From a configuration to a server that answers, with what a person should see on the way.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "config/server_config.h"
#include "exit_code.h"
#include "inference_server.h"
#include "route/key_ring.h"

namespace takt::app {

struct LaunchFailure {
  ExitCode code;
  Error error;
};

// Listens first, so that a taken port is known at once and /ready tells about the loading; then loads the models and
// starts their engines. The server refers to nothing outside itself.
std::variant<std::unique_ptr<InferenceServer>, LaunchFailure> launch(const config::ServerConfig& config,
                                                                     route::KeyRing keys);

}  // namespace takt::app
