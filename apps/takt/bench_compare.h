// `takt bench compare`: reports against the first of them.
#pragma once

#include <string>
#include <vector>

#include "bench_options.h"
#include "exit_code.h"
#include "report/run_report.h"
#include "report/sections.h"

namespace CLI {
class App;
}

namespace takt::app {

struct CompareArguments {
  std::vector<std::string> files;  // JSON, as --json writes it
  bool force = false;
  BenchOptions output;
};

void add_compare_options(CLI::App& command, CompareArguments& arguments);
ExitCode run_compare(const CompareArguments& arguments);

// With warnings about what else differs. Errors: kInvalidArgument: the runs did different work, and `force` is not set.
Result<report::NamedComparison> compare_reports(const std::string& before_name, const report::RunReport& before,
                                                const std::string& after_name, const report::RunReport& after,
                                                bool force);

// kAddress for servers that are not there, kUsage for what was said wrong, kFault else.
ExitCode exit_code_of(const Error& error);

}  // namespace takt::app
