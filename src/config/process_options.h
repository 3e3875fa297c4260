// Settings of the process around the components.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"

namespace takt::config {

struct ProcessOptions {
  std::vector<std::string> models;  // paths, names known to the store, or fake:SCRIPT; empty: the default model
  Duration drain = std::chrono::seconds(30);
  std::string log_level = "info";
  std::string step_log;  // path; empty: off
  std::size_t step_log_bytes = std::size_t{64} * 1024 * 1024;
  std::size_t step_log_files = 4;
  std::string metrics_compat;        // "vllm": metrics also under vLLM's names; empty: off
  std::size_t kept_requests = 1000;  // timelines of requests that ended
  std::string time_zone;             // of the hours of classes; empty: the system's
};

// Who may use the server. Keys are never printed.
struct AuthOptions {
  std::vector<std::string> api_keys;
  std::vector<std::string> admin_keys;  // may use /admin/* too
  std::string api_key_file;             // as route's read_key_file takes it
  bool no_auth = false;                 // serve beyond this machine without a key
};

}  // namespace takt::config
