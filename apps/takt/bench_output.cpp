#include "bench_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "report/report_html.h"
#include "report/report_json.h"

namespace takt::app {
namespace {

constexpr std::uintmax_t kMostReportBytes = std::uintmax_t{1} << 30;

Error file_error(const std::string& path) {
  return {ErrorCode::kIo, path + ": " + std::strerror(errno), {}};
}

struct NamedFile {
  std::string name;
  std::string path;
};

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (std::filesystem::equivalent(a, b, error)) return true;
  const auto full = [&](const std::string& path) { return std::filesystem::weakly_canonical(path, error); };
  return full(a) == full(b);
}

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

Status check_outputs(const BenchOptions& options, const std::vector<std::string>& inputs) {
  const NamedFile outputs[] = {{"--json", options.json},
                               {"--markdown", options.markdown},
                               {"--html", options.html},
                               {"--records", options.records}};
  std::vector<NamedFile> taken;
  for (const auto& input : inputs) taken.push_back({"the input " + input, input});
  for (const auto& output : outputs) {
    if (output.path.empty()) continue;
    for (const auto& other : taken) {
      if (same_file(output.path, other.path))
        return Error::invalid(output.name, output.name + " would write over " + other.name + " (" + other.path + ")");
    }
    taken.push_back(output);
  }
  return {};
}

Status write_file(const std::string& path, const std::string& text) {
  const std::string beside = path + ".part";
  errno = 0;
  {
    std::ofstream file(beside, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (!file) {
      const Error error = file_error(path);
      std::remove(beside.c_str());
      return error;
    }
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) return file_error(path);
  return {};
}

Result<std::string> read_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return file_error(path);
  const auto size = file.tellg();
  if (size < 0 || static_cast<std::uintmax_t>(size) > kMostReportBytes)
    return Error{ErrorCode::kResourceExhausted, path + ": larger than a gigabyte, or no file", {}};
  std::string text(static_cast<std::size_t>(size), '\0');
  file.seekg(0);
  file.read(text.data(), size);
  if (!file) return file_error(path);
  return text;
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
  return report.verdict.valid() ? ExitCode::kDone : ExitCode::kFault;
}

ExitCode put_comparison(const std::string& title, const std::vector<report::NamedComparison>& comparisons,
                        const BenchOptions& options) {
  const auto sections = report::sections_of(comparisons);
  const std::string markdown = report::to_markdown(title, sections);
  return put_forms({{options.json, report::to_json(comparisons)},
                    {options.html, report::to_html(title, sections)},
                    {options.markdown, markdown}},
                   markdown);
}

}  // namespace takt::app
