// Runs a program and waits for it. No shell is involved.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace takt::store {

struct ChildResult {
  int exit_code = 0;   // 128 + n when signal n ended it
  std::string output;  // the end of what it wrote to standard output and standard error
};

// argv[0] is looked up in PATH. kNotFound when there is no such program; kIo when it cannot be started.
Result<ChildResult> run_child(const std::vector<std::string>& argv);

}  // namespace takt::store
