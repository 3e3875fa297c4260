// Gets a Python package's wheel with the user's own pip, so that the user's index, proxy and certificate settings hold.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace takt::store {

// Puts the wheel of package==version into the empty folder `into` and gives its path. Nothing of the package is
// installed or run. Errors: kNotFound when there is no pip; kUnavailable with the last lines of pip's own words when it
// fails.
Result<std::filesystem::path> download_wheel(const std::string& package, const std::string& version,
                                             const std::filesystem::path& into);

}  // namespace takt::store
