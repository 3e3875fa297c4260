// The same load under several settings of a running Takt server, in turns, so that what drifts hits all of them alike.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench_session.h"
#include "report/run_report.h"
#include "report/sections.h"

namespace takt::app {

using Replay = std::function<Result<report::RunReport>(const std::string& label)>;

// Applies each file by POST /admin/config, replays, and takes it back; `rounds` times round. Each file is compared with
// the first. Errors: the server's (it is no Takt server, has no such setting, or needs an admin key), the replay's.
Result<std::vector<report::NamedComparison>> compare_configs(BenchSession& session,
                                                             const std::vector<std::string>& files,
                                                             std::uint32_t rounds, const Replay& replay);

}  // namespace takt::app
