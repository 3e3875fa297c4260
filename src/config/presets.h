// Named sets of scheduler settings: the modes of batching that other servers stand for, and two of our own.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/option_table.h"

namespace takt::config {

std::vector<std::string> preset_names();

// Gives every option of the preset its value there, unless it was set before. Errors (kInvalidArgument): no such
// preset.
Status apply_preset(const std::string& name, OptionTable& options);

}  // namespace takt::config
