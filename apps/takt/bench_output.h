// Writes reports where they were asked for.
#pragma once

#include <string>
#include <vector>

#include "bench_options.h"
#include "exit_code.h"
#include "report/run_report.h"
#include "report/sections.h"

namespace takt::app {

// The files to be written are different ones, and none is an input. Errors: kInvalidArgument, naming both.
Status check_outputs(const BenchOptions& options, const std::vector<std::string>& inputs);

// Files first, then standard output: Markdown, or what has "-". kFault for a run that is not valid.
ExitCode put_report(const report::RunReport& report, const BenchOptions& options);
ExitCode put_comparison(const std::string& title, const std::vector<report::NamedComparison>& comparisons,
                        const BenchOptions& options);

// Whole or not at all: under another name first. Errors: kIo.
Status write_file(const std::string& path, const std::string& text);
// Errors: kIo; kResourceExhausted beyond a gigabyte.
Result<std::string> read_file(const std::string& path);

}  // namespace takt::app
