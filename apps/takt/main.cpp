// takt: wiring only. Each subcommand has a file of its own.
#include <csignal>
#include <exception>

#include "command_line.h"
#include "exit_code.h"

int main(int argc, char** argv) {
  // A reader that is gone, or a file that may not grow, is an error of the write.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return static_cast<int>(takt::app::run_command_line(argc, argv));
  } catch (const std::exception& error) {
    return static_cast<int>(takt::app::fail(takt::app::ExitCode::kFault, takt::Error::internal(error.what())));
  }
}
