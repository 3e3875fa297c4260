#include "output_files.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace takt::app {
namespace {

constexpr std::uintmax_t kMostReadBytes = std::uintmax_t{1} << 30;

Error output_error(const std::string& path) {
  return {ErrorCode::kIo, path + ": " + std::strerror(errno), {}};
}

bool same_file(const std::string& a, const std::string& b) {
  if (a == "-" || b == "-") return a == b;
  std::error_code error;
  if (std::filesystem::equivalent(a, b, error)) return true;
  const auto full = [&](const std::string& path) { return std::filesystem::weakly_canonical(path, error); };
  return full(a) == full(b);
}

}  // namespace

Status check_outputs(const std::vector<OutputFile>& outputs, const std::vector<std::string>& inputs) {
  std::vector<OutputFile> taken;
  for (const auto& input : inputs) {
    if (!input.empty()) taken.push_back({"the input " + input, input});
  }
  for (const auto& output : outputs) {
    if (output.path.empty()) continue;
    if (output.path == "-" && !output.may_be_standard_output)
      return Error::invalid(output.option,
                            output.option + " cannot be '-', standard output: name a file (./- is one of that name)");
    for (const auto& other : taken) {
      if (same_file(output.path, other.path))
        return Error::invalid(output.option,
                              output.option + " would write over " + other.option + " (" + other.path + ")");
    }
    taken.push_back(output);
  }
  return {};
}

Status write_file(const std::string& path, const std::string& text) {
  std::error_code none;
  // A pipe or a device is written to, never replaced.
  const auto kind = std::filesystem::status(path, none).type();
  const bool replaces = kind == std::filesystem::file_type::regular || kind == std::filesystem::file_type::not_found;
  const std::string written = replaces ? path + ".part" : path;
  errno = 0;
  {
    std::ofstream file(written, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (!file) {
      const Error error = output_error(path);
      if (replaces) std::remove(written.c_str());
      return error;
    }
  }
  if (replaces && std::rename(written.c_str(), path.c_str()) != 0) return output_error(path);
  return {};
}

Result<std::string> read_file(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return output_error(path);
  const auto size = file.tellg();
  if (size < 0 || static_cast<std::uintmax_t>(size) > kMostReadBytes)
    return Error{ErrorCode::kResourceExhausted, path + ": larger than a gigabyte, or no file", {}};
  std::string text(static_cast<std::size_t>(size), '\0');
  file.seekg(0);
  file.read(text.data(), size);
  if (!file) return output_error(path);
  return text;
}

}  // namespace takt::app
