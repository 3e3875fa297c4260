// A configuration file in TOML -> options.
#pragma once

#include <string>

#include "base/result.h"
#include "config/option_table.h"

namespace takt::config {

// Sets every option that the text names. Unknown keys and wrong types are errors, never ignored.
// Errors: kInvalidArgument; the message begins with NAME:LINE and the key.
Status apply_toml(const std::string& text, const std::string& name, OptionTable& options);

// Reads the file (at most 1 MiB) and applies it. Errors: kIo with the path and the system's words; those of apply_toml.
Status apply_toml_file(const std::string& path, OptionTable& options);

}  // namespace takt::config
