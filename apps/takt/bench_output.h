// Writes reports where they were asked for.
#pragma once

#include <string>
#include <vector>

#include "bench_options.h"
#include "exit_code.h"
#include "output_files.h"
#include "report/run_report.h"
#include "report/sections.h"

namespace takt::app {

// Where the options want reports.
std::vector<OutputFile> report_files(const BenchOptions& options);

// Files first, then standard output: Markdown, or what has "-". kFault for a run that is not valid.
ExitCode put_report(const report::RunReport& report, const BenchOptions& options);
// Likewise; kFault where one of the runs is not valid.
ExitCode put_comparison(const std::string& title, const std::vector<report::NamedComparison>& comparisons,
                        const BenchOptions& options);

}  // namespace takt::app
