#include "exit_code.h"

#include <cstdio>
#include <string>

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

}  // namespace takt::app
