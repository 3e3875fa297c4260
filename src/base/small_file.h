// Reading a settings file whole.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace takt {

// The bytes of a regular file of at most `most` bytes; anything else (a directory, a device, a pipe that nobody may
// ever write to) is refused. Errors: kIo, kInvalidArgument; `field` is named in both.
Result<std::string> read_small_file(const std::string& path, std::size_t most, const std::string& field);

}  // namespace takt
