// `takt inspect`.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "commands.h"
#include "config/server_config.h"
#include "inspect_report.h"
#include "model_source.h"

namespace takt::app {
namespace {

struct InspectArguments {
  std::string model;
  bool json = false;
  bool metadata_only = false;
  bool tensors = false;
  bool bench = false;
  bool repack = true;
};

ExitCode run_inspect(const InspectArguments& arguments) {
  const auto source = find_model(arguments.model);
  if (!source) return fail(ExitCode::kModel, source.error());
  if (source->script) return fail(ExitCode::kUsage, Error::invalid("model", "a scripted model has no file to inspect"));
  // What `takt serve` would do, without other options.
  const config::ServerConfig defaults;
  CpuExecutorOptions options = defaults.compute;
  options.max_sequences = defaults.engine.sched.max_sequences;
  options.repack = arguments.repack;
  auto inspection = inspect_model(source->path, options, !arguments.metadata_only);
  if (!inspection) return fail(ExitCode::kModel, inspection.error());
  if (arguments.bench && !inspection->unsupported) {
    std::fputs("measuring this machine and the model on it: some seconds ...\n", stderr);
    auto speed = measure_machine_speed(source->path, inspection->file, options);
    if (!speed) return fail(ExitCode::kModel, speed.error());
    inspection->speed = std::move(*speed);
  }
  const std::string report = arguments.json ? to_json(*inspection) + "\n" : to_text(*inspection, arguments.tensors);
  if (const auto code = print(report); code != ExitCode::kDone) return code;
  return inspection->unsupported ? fail(ExitCode::kModel, *inspection->unsupported) : ExitCode::kDone;
}

}  // namespace

void add_inspect_command(CLI::App& app, ChosenCommand& chosen) {
  auto* command = app.add_subcommand("inspect", "Show what a model file holds and what it costs on this machine");
  auto arguments = std::make_shared<InspectArguments>();
  command->add_option("model", arguments->model, "GGUF file or name")->required();
  command->add_flag("--json", arguments->json, "One JSON object instead of text");
  command->add_flag("--tensors", arguments->tensors, "List every tensor too (--json always does)");
  command->add_flag("--metadata-only", arguments->metadata_only,
                    "Do not read the weights, and so not see values in them that are not finite");
  command->add_flag_callback(
      "--no-repack", [arguments] { arguments->repack = false; }, "What it costs when weights stay in the file");
  command->add_flag("--bench", arguments->bench,
                    "Also compute with the model and show its speed beside what the machine can do (some seconds)");
  command->callback([&chosen, arguments] { chosen = [arguments] { return run_inspect(*arguments); }; });
}

}  // namespace takt::app
