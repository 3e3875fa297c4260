// How many files the process may open, connections among them.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "config/config_sources.h"

namespace takt::app {

// What the server opens beside connections: models, logs, its listener, what libraries keep.
inline constexpr std::uint64_t kFilesBesideConnections = 128;

// Raises the process' limit of open files as far as it may, up to `wanted`. Returns the limit then.
std::uint64_t raise_open_files(std::uint64_t wanted);

// http.connections fits `limit` open files: what was asked for is refused otherwise, the default is lowered. Errors:
// kInvalidArgument, field "http.connections".
Status fit_connections(config::LoadedConfig& loaded, std::uint64_t limit);

}  // namespace takt::app
