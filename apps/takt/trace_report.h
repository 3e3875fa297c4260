// What `takt trace info` prints of one file.
#pragma once

#include <string>

#include "base/result.h"
#include "trace/reader.h"

namespace takt::app {

// A trace of requests, a table of rates, or any other table. Errors: as trace::open_trace; kInvalidArgument: there is
// no request in it.
Result<std::string> trace_report(const std::string& path, const trace::ReadOptions& options);

// "12,031 of 12,031 rows; ..." : what was read and what was left out, with the reasons. Several lines.
std::string counts_report(const trace::ReadCounts& counts);

}  // namespace takt::app
