// The subcommands: each adds itself to the command line and says what to run.
#pragma once

#include <functional>

#include "exit_code.h"

namespace CLI {
class App;
}

namespace takt::app {

// What the command line asked for; empty until a subcommand was chosen.
using ChosenCommand = std::function<ExitCode()>;

void add_serve_command(CLI::App& app, ChosenCommand& chosen);
void add_chat_command(CLI::App& app, ChosenCommand& chosen);
void add_batch_command(CLI::App& app, ChosenCommand& chosen);
void add_bench_command(CLI::App& app, ChosenCommand& chosen);
void add_replay_command(CLI::App& app, ChosenCommand& chosen);
void add_pull_command(CLI::App& app, ChosenCommand& chosen);
void add_inspect_command(CLI::App& app, ChosenCommand& chosen);
void add_explain_command(CLI::App& app, ChosenCommand& chosen);
void add_top_command(CLI::App& app, ChosenCommand& chosen);
void add_steps_command(CLI::App& app, ChosenCommand& chosen);
void add_trace_command(CLI::App& app, ChosenCommand& chosen);
void add_debug_command(CLI::App& app, ChosenCommand& chosen);

}  // namespace takt::app
