// One logger for the process. Prompts and answers are never logged.
#pragma once

#include <spdlog/spdlog.h>

#include <string_view>

namespace takt {

// level: trace | debug | info | warning | error | critical | off. Logs go to standard error. Returns false for an
// unknown level.
bool set_up_logging(std::string_view level);

}  // namespace takt
