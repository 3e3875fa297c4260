// How the process ends (docs/configuration.md has the same table).
#pragma once

#include <string_view>

#include "base/result.h"

namespace takt::app {

enum class ExitCode : int {
  kDone = 0,
  kFault = 1,    // while running
  kUsage = 2,    // command line or configuration
  kModel = 3,    // missing, truncated, not supported, does not fit
  kAddress = 4,  // port taken, not allowed, no such host
  kFile = 5,     // disk full, no rights, download
};

// One line on standard error, then the code.
ExitCode fail(ExitCode code, const Error& error);

// Writes all of a text to standard output; kFile, with its line, when that cannot be done. A reader that has gone has
// all that it wants: that is no error.
ExitCode print(std::string_view text);
// What would still be printed comes to nobody.
bool output_is_closed();

}  // namespace takt::app
