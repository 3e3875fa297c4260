#include "command_line.h"

#include <CLI/CLI.hpp>
#include <string>

#include "commands.h"
#include "version.h"

namespace takt::app {
namespace {

// An empty list or text is no default worth showing.
void hide_empty_defaults(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string shown = option->get_default_str();
    if (shown == "[]" || shown == "{}") option->default_str("");
  }
}

}  // namespace

ExitCode run_command_line(int argc, char** argv) {
  CLI::App app{"Takt: an inference server that keeps the beat."};
  app.name("takt");
  // --help shows what holds where nothing is said. Subcommands take this over.
  app.option_defaults()->always_capture_default();
  app.set_version_flag("--version", [] { return version_line(); });
  app.require_subcommand(1);
  ChosenCommand chosen;
  add_serve_command(app, chosen);
  add_chat_command(app, chosen);
  add_batch_command(app, chosen);
  add_bench_command(app, chosen);
  add_replay_command(app, chosen);
  add_pull_command(app, chosen);
  add_inspect_command(app, chosen);
  add_explain_command(app, chosen);
  add_top_command(app, chosen);
  add_steps_command(app, chosen);
  add_trace_command(app, chosen);
  add_debug_command(app, chosen);
  const auto all = [](CLI::App*) { return true; };
  for (CLI::App* command : app.get_subcommands(all)) {
    hide_empty_defaults(*command);
    for (CLI::App* part : command->get_subcommands(all)) hide_empty_defaults(*part);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      app.exit(error);  // --help, --version
      return ExitCode::kDone;
    }
    return fail(ExitCode::kUsage, Error::invalid("", std::string(error.what()) + " (see takt --help)"));
  }
  return chosen();
}

}  // namespace takt::app
