#include "exit_code.h"

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "terminal_text.h"

namespace takt::app {

ExitCode fail(ExitCode code, const Error& error) {
  // The message stays one harmless line, whatever a file, a server or a system put into it.
  std::string line = "takt: ";
  if (!error.field.empty() && error.message.find(error.field) == std::string::npos) line += error.field + ": ";
  line += error.message;
  std::fprintf(stderr, "%s\n", terminal_line(line).c_str());
  return code;
}

ExitCode print(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return ExitCode::kDone;
  return fail(ExitCode::kFile, {ErrorCode::kIo, "standard output: " + std::generic_category().message(errno), {}});
}

}  // namespace takt::app
