// The command line of the binary: its subcommands, and what one of them comes to.
#pragma once

#include "exit_code.h"

namespace takt::app {

// Reads the arguments and runs the subcommand that they name. May throw what the libraries throw.
ExitCode run_command_line(int argc, char** argv);

}  // namespace takt::app
