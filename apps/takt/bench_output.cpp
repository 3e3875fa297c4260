#include "bench_output.h"

#include <algorithm>
#include <sstream>

#include "report/report_html.h"
#include "report/report_json.h"

namespace takt::app {
namespace {

struct Form {
  const std::string& path;
  std::string text;
};

// Each to its file; what has "-" is what standard output gets instead of `otherwise`.
ExitCode put_forms(const std::vector<Form>& forms, const std::string& otherwise) {
  const std::string* on_output = &otherwise;
  for (const auto& form : forms) {
    if (form.path.empty()) continue;
    if (form.path == "-") {
      on_output = &form.text;
    } else if (const auto status = write_file(form.path, form.text); !status) {
      return fail(ExitCode::kFile, status.error());
    }
  }
  return print(*on_output);
}

}  // namespace

std::vector<OutputFile> report_files(const BenchOptions& options) {
  return {{"--json", options.json, true},
          {"--markdown", options.markdown, true},
          {"--html", options.html, true},
          {"--records", options.records}};
}

ExitCode put_report(const report::RunReport& report, const BenchOptions& options) {
  if (!options.records.empty()) {
    std::ostringstream lines;
    report::write_records(lines, report);
    if (const auto status = write_file(options.records, lines.str()); !status)
      return fail(ExitCode::kFile, status.error());
  }
  const std::string markdown = report::to_markdown(report.title, report::sections_of(report));
  const ExitCode code = put_forms({{options.json, options.json.empty() ? "" : report::to_json(report)},
                                   {options.html, options.html.empty() ? "" : report::to_html(report)},
                                   {options.markdown, markdown}},
                                  markdown);
  if (code != ExitCode::kDone) return code;
  return report.verdict.valid() && !report.capacity_stopped_at ? ExitCode::kDone : ExitCode::kFault;
}

ExitCode put_comparison(const std::string& title, const std::vector<report::NamedComparison>& comparisons,
                        const BenchOptions& options) {
  const auto sections = report::sections_of(comparisons);
  const std::string markdown = report::to_markdown(title, sections);
  const ExitCode code = put_forms({{options.json, report::to_json(comparisons)},
                                   {options.html, report::to_html(title, sections)},
                                   {options.markdown, markdown}},
                                  markdown);
  if (code != ExitCode::kDone) return code;
  const bool valid = std::all_of(comparisons.begin(), comparisons.end(), [](const auto& one) { return one.valid; });
  return valid ? ExitCode::kDone : ExitCode::kFault;
}

}  // namespace takt::app
