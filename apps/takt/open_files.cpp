#include "open_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <string>
#include <variant>

namespace takt::app {

std::uint64_t raise_open_files(std::uint64_t wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
  if (limit.rlim_cur >= wanted) return limit.rlim_cur;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

Status fit_connections(config::LoadedConfig& loaded, std::uint64_t limit) {
  const std::uint64_t room = limit - std::min(limit, kFilesBesideConnections);
  const std::uint64_t asked = loaded.config.http.connections;
  if (asked <= room) return {};
  const config::Option* option = loaded.options.find("http.connections");
  const bool given = option != nullptr && option->origin != "default";
  if (given || room == 0) {
    return Error::invalid("http.connections", "http.connections is " + std::to_string(asked) +
                                                  ", and this process may open " + std::to_string(limit) +
                                                  " files (ulimit -n), " + std::to_string(kFilesBesideConnections) +
                                                  " of them for other things");
  }
  for (const char* key : {"http.connections", "http.connections_per_peer"}) {
    const config::Option* lowered = loaded.options.find(key);
    if (lowered == nullptr || lowered->origin != "default") continue;
    const std::int64_t fits = std::min(std::get<std::int64_t>(lowered->get()), static_cast<std::int64_t>(room));
    if (Status set = loaded.options.set(key, config::Value(fits), "limit of open files"); !set) return set;
  }
  return {};
}

}  // namespace takt::app
