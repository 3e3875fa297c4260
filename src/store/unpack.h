// One member of a zip archive -> a file, checked on the way.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/result.h"

namespace takt::store {

struct ExpectedFile {
  std::uint64_t bytes = 0;
  std::string sha256;
};

// Writes `member` to the new file `destination` and flushes it to the disk. Not one byte more than expected is written.
// Errors: kNotFound (no such member), kInvalidArgument (not a zip, wrong size, wrong checksum), kIo (cannot write).
// What was written of a failed file stays: remove its folder.
Status unpack_checked(const std::filesystem::path& archive, const std::string& member, const ExpectedFile& expected,
                      const std::filesystem::path& destination,
                      const std::function<void(std::uint64_t done)>& progress);

}  // namespace takt::store
