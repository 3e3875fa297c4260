// `takt steps`.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "commands.h"
#include "output_files.h"
#include "plan_replay.h"
#include "step_history.h"
#include "step_picture.h"
#include "step_table.h"
#include "step_trace.h"

namespace takt::app {
namespace {

constexpr std::uint64_t kMostColumns = 120;

struct StepsArguments {
  std::string log;
  std::string svg;
  std::string html;
  std::string perfetto;
  std::uint32_t model = 0;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  bool replay = false;
};

using Log = metrics::StepLogReader;

ExitCode fail_reading(const Error& error) {
  return fail(error.code == ErrorCode::kIo ? ExitCode::kFile : ExitCode::kFault, error);
}

ExitCode check_replay(Log log, const StepsArguments&) {
  const auto report = replay_plans(log);
  if (!report) return fail_reading(report.error());
  const std::string counts =
      std::to_string(report->plans) + " plans of " + std::to_string(report->steps) + " steps came out the same";
  if (!report->difference) return print(counts + "\n");
  return fail(ExitCode::kFault, Error::internal(*report->difference + " (" + counts + " before it)"));
}

StepRange chosen_range(const StepsArguments& arguments) {
  StepRange range;
  range.first = arguments.from;
  if (arguments.to > 0) range.last = arguments.to;
  return range;
}

bool has_range(const StepsArguments& arguments) {
  return arguments.from > 0 || arguments.to > 0;
}

// Calls `take` for every step of the range until it says that it has enough. Errors: those of the log.
Status for_each_step(Log log, const StepsArguments& arguments, const StepRange& range, bool with_cells,
                     const std::function<bool(StepView&)>& take) {
  StepHistory history(std::move(log), ModelIndex(arguments.model), with_cells ? std::optional(range) : std::nullopt);
  for (;;) {
    auto step = history.next();
    if (!step) return step.error();
    if (!step->has_value()) return {};
    if (range.contains((*step)->plan.id) && !take(**step)) return {};
  }
}

ExitCode write_stream(const std::string& path, const std::function<bool(std::FILE*)>& write) {
  errno = 0;
  std::FILE* out = std::fopen(path.c_str(), "w");
  const bool written = out != nullptr && write(out);
  const bool closed = out != nullptr && std::fclose(out) == 0;
  if (written && closed) return ExitCode::kDone;
  return fail(ExitCode::kFile, {ErrorCode::kIo, path + ": " + std::generic_category().message(errno), {}});
}

ExitCode write_text(const std::string& path, const std::string& text) {
  if (path == "-") return print(text);
  const auto status = write_file(path, text);
  return status ? ExitCode::kDone : fail(ExitCode::kFile, status.error());
}

ExitCode draw(Log log, const StepsArguments& arguments) {
  StepRange range = chosen_range(arguments);
  if (!has_range(arguments)) {
    auto again = Log::open(arguments.log);
    if (!again) return fail_reading(again.error());
    const auto chosen = choose_range(std::move(*again), ModelIndex(arguments.model), kMostColumns);
    if (!chosen) return fail_reading(chosen.error());
    range = *chosen;
  }
  std::vector<StepView> steps;
  const auto status = for_each_step(std::move(log), arguments, range, true, [&](StepView& step) {
    steps.push_back(std::move(step));
    return steps.size() < kMostColumns;
  });
  if (!status) return fail_reading(status.error());
  if (steps.empty()) return fail(ExitCode::kUsage, Error::invalid("", "the log has no step to draw there"));
  if (!arguments.svg.empty()) {
    if (const auto code = write_text(arguments.svg, step_svg(steps)); code != ExitCode::kDone) return code;
  }
  if (arguments.html.empty()) return ExitCode::kDone;
  return write_text(arguments.html, step_html(steps, "Steps of " + arguments.log));
}

ExitCode write_trace(Log log, const StepsArguments& arguments) {
  const std::string process = arguments.model < log.models().size() ? log.models()[arguments.model] : "takt";
  Status status;
  const auto code = write_stream(arguments.perfetto, [&](std::FILE* out) {
    StepTrace trace(out, process);
    status = for_each_step(std::move(log), arguments, chosen_range(arguments), true, [&](StepView& step) {
      trace.add(step);
      return true;
    });
    return trace.finish();
  });
  return status ? code : fail_reading(status.error());
}

ExitCode print_table(Log log, const StepsArguments& arguments) {
  std::string table = step_table_head();
  ExitCode code = ExitCode::kDone;
  constexpr std::size_t kPrintBytes = 64 * 1024;
  const auto flush = [&](std::size_t least) {
    if (code == ExitCode::kDone && table.size() >= least) {
      code = print(table);
      table.clear();
    }
  };
  bool marks = false;
  const auto status = for_each_step(std::move(log), arguments, chosen_range(arguments), false, [&](StepView& step) {
    table += step_table_row(step);
    marks = marks || step.plan.beat_overrun;
    flush(kPrintBytes);
    return code == ExitCode::kDone && !output_is_closed();
  });
  if (marks) table += step_table_legend();
  flush(0);
  return status || code != ExitCode::kDone ? code : fail_reading(status.error());
}

using StepsOutput = ExitCode (*)(Log, const StepsArguments&);

// All that was asked for, each in a reading of its own; the table where nothing was.
std::vector<StepsOutput> wanted_outputs(const StepsArguments& arguments) {
  std::vector<StepsOutput> outputs;
  if (arguments.replay) outputs.push_back(check_replay);
  if (!arguments.perfetto.empty()) outputs.push_back(write_trace);
  if (!arguments.svg.empty() || !arguments.html.empty()) outputs.push_back(draw);
  if (outputs.empty()) outputs.push_back(print_table);
  return outputs;
}

ExitCode run_steps(const StepsArguments& arguments) {
  const auto status = check_outputs(
      {{"--svg", arguments.svg, true}, {"--html", arguments.html, true}, {"--perfetto", arguments.perfetto}},
      {arguments.log});
  if (!status) return fail(ExitCode::kUsage, status.error());
  if (arguments.to > 0 && arguments.from > arguments.to)
    return fail(ExitCode::kUsage, Error::invalid("", "--from " + std::to_string(arguments.from) + " is after --to " +
                                                         std::to_string(arguments.to)));
  for (const StepsOutput output : wanted_outputs(arguments)) {
    auto log = Log::open(arguments.log);
    if (!log) return fail_reading(log.error());
    if (const ExitCode code = output(std::move(*log), arguments); code != ExitCode::kDone) return code;
  }
  return ExitCode::kDone;
}

}  // namespace

void add_steps_command(CLI::App& app, ChosenCommand& chosen) {
  auto* command =
      app.add_subcommand("steps", "Look at a step log (takt serve --step-log FILE): a table, a picture, a replay");
  auto arguments = std::make_shared<StepsArguments>();
  command->add_option("log", arguments->log, "The log's newest file; older ones beside it are read too")->required();
  auto* svg = command->add_option("--svg", arguments->svg,
                                  "Draw a picture: rows are sequences, columns steps ('-': to standard output)");
  auto* html = command->add_option("--html", arguments->html, "The picture on a page, with the table");
  auto* trace =
      command->add_option("--perfetto", arguments->perfetto, "Write a trace for ui.perfetto.dev or chrome://tracing");
  const auto step_number = CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40U);
  auto* from = command->add_option("--from", arguments->from, "First step")->check(step_number);
  auto* to = command->add_option("--to", arguments->to, "Last step")->check(step_number);
  command->add_option("--model", arguments->model, "Which of several models, from 0 on")->check(CLI::Range(0, 1023));
  command
      ->add_flag("--replay", arguments->replay,
                 "Run the scheduler over the log's inputs: its plans must be those of the log")
      ->excludes(svg, html, trace, from, to);
  command->callback([&chosen, arguments] { chosen = [arguments] { return run_steps(*arguments); }; });
}

}  // namespace takt::app
