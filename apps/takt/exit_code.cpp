#include "exit_code.h"

#include <cstdio>
#include <string>

namespace takt::app {

ExitCode fail(ExitCode code, const Error& error) {
  // The message stays one line, whatever a file or a system put into it.
  std::string line = "takt: ";
  if (!error.field.empty() && error.message.find(error.field) == std::string::npos) line += error.field + ": ";
  line += error.message;
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  std::fprintf(stderr, "%s\n", line.c_str());
  return code;
}

}  // namespace takt::app
