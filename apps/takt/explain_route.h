// `takt explain --route`: which class a request would belong to, and why. Asks no server.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "exit_code.h"
#include "route/router.h"

namespace CLI {
class App;
}

namespace takt::app {

struct RouteQuestion {
  bool asked = false;
  std::optional<std::string> config_file;
  std::string key_file;
  std::string key;                   // its name in the key file; empty: a caller of a server without keys
  std::vector<std::string> headers;  // "x-takt-NAME: VALUE"
  route::Wishes wishes;              // what the request says beside its headers
  std::string at;                    // "mon 22:30"; empty: now
};

// Adds the options to the command; the result holds what the command line asked.
std::shared_ptr<RouteQuestion> add_route_options(CLI::App& command);

// The answer as lines for people. Errors: of the configuration and the key file; what the server would refuse, with the
// field.
Result<std::string> route_story(const RouteQuestion& question);

ExitCode explain_route(const RouteQuestion& question);

}  // namespace takt::app
