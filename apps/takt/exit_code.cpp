#include "exit_code.h"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "terminal_text.h"

namespace takt::app {

namespace {

// Whether the message says the field in full, not as part of a longer name.
bool names(const std::string& message, const std::string& field) {
  const auto continues = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t at = message.find(field); at != std::string::npos; at = message.find(field, at + 1)) {
    const std::size_t end = at + field.size();
    if (end == message.size() || !continues(message[end])) return true;
  }
  return false;
}

}  // namespace

ExitCode fail(ExitCode code, const Error& error) {
  // The message stays one harmless line, whatever a file, a server or a system put into it.
  std::string line = "takt: ";
  if (!error.field.empty() && !names(error.message, error.field)) line += error.field + ": ";
  line += error.message;
  std::fprintf(stderr, "%s\n", terminal_line(line).c_str());
  return code;
}

ExitCode print(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return ExitCode::kDone;
  if (errno == EPIPE) return ExitCode::kDone;
  return fail(ExitCode::kFile, {ErrorCode::kIo, "standard output: " + std::generic_category().message(errno), {}});
}

bool output_is_closed() {
  return std::ferror(stdout) != 0;
}

}  // namespace takt::app
