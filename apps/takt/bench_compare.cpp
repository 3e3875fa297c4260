#include "bench_compare.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "bench_output.h"
#include "report/report_json.h"

namespace takt::app {
namespace {

// Load facts that differ: the runs were not the same experiment.
void warn_of_facts(const std::vector<report::Fact>& before, const std::vector<report::Fact>& after,
                   std::vector<std::string>& warnings) {
  for (const auto& fact : before) {
    const auto same = std::find_if(after.begin(), after.end(), [&](const auto& one) { return one.name == fact.name; });
    if (same != after.end() && same->value != fact.value)
      warnings.push_back("Note: " + fact.name + " differs: " + fact.value + " | " + same->value + ".");
  }
}

void warn_of_state(const std::string& name, const report::RunReport& report, std::vector<std::string>& warnings) {
  if (report.partial) warnings.push_back("Note: " + name + " is partial.");
  if (!report.verdict.valid())
    warnings.push_back("Note: " + name + " is NOT VALID: " + report.verdict.faults.front() + ".");
  if (report.verdict.saturation.saturated)
    warnings.push_back("Note: " + name + " was saturated; its latencies tell the length of the run.");
}

}  // namespace

ExitCode exit_code_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
      return ExitCode::kUsage;
    case ErrorCode::kUnavailable:
      return ExitCode::kAddress;
    case ErrorCode::kIo:
      return ExitCode::kFile;
    default:
      return ExitCode::kFault;
  }
}

Result<report::NamedComparison> compare_reports(const std::string& before_name, const report::RunReport& before,
                                                const std::string& after_name, const report::RunReport& after,
                                                bool force) {
  std::vector<std::string> warnings;
  if (const auto fault = measure::different_work(before.run, after.run)) {
    if (!force)
      return Error::invalid("", before_name + " and " + after_name + " did different work: " + *fault +
                                    "; --force compares them all the same");
    warnings.push_back("Note: the runs did different work: " + *fault + ".");
  }
  warn_of_facts(before.load, after.load, warnings);
  warn_of_facts(before.server, after.server, warnings);
  warn_of_state(before_name, before, warnings);
  warn_of_state(after_name, after, warnings);
  report::NamedComparison named{before_name, after_name, measure::compare(before.run, after.run),
                                before.verdict.valid() && after.verdict.valid()};
  named.comparison.warnings = std::move(warnings);
  return named;
}

void add_compare_options(CLI::App& command, CompareArguments& arguments) {
  command.add_option("reports", arguments.files, "Reports as --json wrote them; each is compared with the first")
      ->required()
      ->expected(2, 100);
  command.add_flag("--force", arguments.force, "Also where the runs did different work");
  command.add_option("--json", arguments.output.json, "Write the comparison as JSON; '-': to standard output");
  command.add_option("--markdown", arguments.output.markdown, "Write it as Markdown");
  command.add_option("--html", arguments.output.html, "Write it as HTML");
}

ExitCode run_compare(const CompareArguments& arguments) {
  if (const auto status = check_outputs(report_files(arguments.output), arguments.files); !status)
    return fail(ExitCode::kUsage, status.error());
  std::vector<report::RunReport> reports;
  for (const auto& file : arguments.files) {
    const auto text = read_file(file);
    if (!text) return fail(ExitCode::kFile, text.error());
    auto report = report::read_report(*text);
    if (!report) {
      Error error = report.error();
      error.message = file + ": " + error.message;
      return fail(ExitCode::kUsage, error);
    }
    reports.push_back(std::move(*report));
  }
  std::vector<report::NamedComparison> comparisons;
  for (std::size_t i = 1; i < reports.size(); ++i) {
    auto one = compare_reports(arguments.files[0], reports[0], arguments.files[i], reports[i], arguments.force);
    if (!one) return fail(ExitCode::kUsage, one.error());
    comparisons.push_back(std::move(*one));
  }
  return put_comparison("takt bench compare", comparisons, arguments.output);
}

}  // namespace takt::app
