// `takt replay`: the requests of a trace against a server, at the instants of the trace.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "bench_compare.h"
#include "bench_options.h"
#include "bench_output.h"
#include "bench_session.h"
#include "commands.h"
#include "load/trace_source.h"
#include "number_in.h"
#include "replay_configs.h"
#include "report/figures.h"
#include "trace/scaled_reader.h"
#include "trace/sorted_reader.h"

namespace takt::app {
namespace {

struct ReplayArguments {
  BenchOptions common;
  std::string trace;
  double speed = 1.0;
  double scale = 1.0;
  std::optional<std::uint64_t> first;
  bool skip_malformed = false;
  bool sessions_wait = false;
  bool keep_long = false;
  std::vector<std::string> configs;
  std::uint32_t rounds = 2;
};

Result<std::unique_ptr<trace::Reader>> open_scaled(const ReplayArguments& arguments) {
  const auto on_malformed = arguments.skip_malformed ? trace::OnMalformed::kSkip : trace::OnMalformed::kRefuse;
  trace::ReadOptions options;
  options.on_malformed = on_malformed;
  auto reader = trace::open_trace(arguments.trace, options);
  if (!reader) return reader.error();
  if (!(*reader)->origin().has_arrivals)
    return Error::invalid("trace", arguments.trace + " has no instants to replay, only lengths");
  return trace::scaled(trace::sorted_by_arrival(std::move(*reader), on_malformed),
                       {.speed = arguments.speed, .scale = arguments.scale, .seed = arguments.common.seed});
}

void note_trace(report::RunReport& report, const ReplayArguments& arguments, const load::ReplayCounts& counts) {
  auto& facts = report.load;
  facts.push_back({"trace", arguments.trace});
  facts.push_back({"arrivals", "the trace's own instants, speed " + report::number_text(arguments.speed) + ", scale " +
                                   report::number_text(arguments.scale)});
  std::string kept = std::to_string(counts.kept) + " of " + std::to_string(counts.records) + " records";
  for (const auto& [reason, count] : counts.dropped) kept += "; dropped " + std::to_string(count) + ": " + reason;
  facts.push_back({"kept", kept});
  facts.push_back({"turns of a session", arguments.sessions_wait
                                             ? "wait for the answer before"
                                             : "sent at their instants, whether or not the answer before is there"});
  facts.push_back({"warm-up", report::seconds_text(arguments.common.warm_up_seconds.value_or(0.0))});
  facts.push_back({"retries", arguments.common.honour_retry_after ? "after Retry-After" : "none"});
}

Result<report::RunReport> replay_once(BenchSession& session, const ReplayArguments& arguments,
                                      const std::string& label) {
  auto reader = open_scaled(arguments);
  if (!reader) return reader.error();
  std::vector<load::LoadClass> classes;
  load::ReplayCounts counts;
  load::ReplayOptions options;
  options.first = arguments.first;
  options.seed = arguments.common.seed;
  const auto seconds = [](const std::optional<double>& value) {
    return value ? std::optional(from_seconds(*value)) : std::nullopt;
  };
  options.targets = {seconds(arguments.common.ttft_seconds), seconds(arguments.common.itl_seconds),
                     seconds(arguments.common.tpot_seconds), seconds(arguments.common.end_to_end_seconds)};
  if (!arguments.keep_long) options.most_tokens = session.server().most_tokens;
  BenchSession::Plan plan;
  plan.source = load::make_trace_source(std::move(*reader), options, classes, counts);
  plan.classes = &classes;
  plan.duration_seconds = arguments.common.duration_seconds;
  plan.warm_up_seconds = arguments.common.warm_up_seconds.value_or(0.0);
  plan.sessions_wait = arguments.sessions_wait;
  plan.progress_label = label;
  auto report = session.run(std::move(plan));
  if (!report) return report;
  report->title = "takt replay " + arguments.trace + " " + arguments.common.url;
  note_trace(*report, arguments, counts);
  return report;
}

ExitCode run_replay(const ReplayArguments& arguments) {
  std::vector<std::string> inputs = arguments.configs;
  inputs.push_back(arguments.trace);
  if (const auto status = check_outputs(report_files(arguments.common), inputs); !status)
    return fail(ExitCode::kUsage, status.error());
  // A trace that cannot be read is said before anybody is asked.
  if (const auto reader = open_scaled(arguments); !reader) return fail(exit_code_of(reader.error()), reader.error());
  auto session = BenchSession::open(arguments.common);
  if (!session) return fail(exit_code_of(session.error()), session.error());
  if (!arguments.configs.empty()) {
    const auto replay = [&](const std::string& label) { return replay_once(**session, arguments, label); };
    auto comparisons = compare_configs(**session, arguments.configs, arguments.rounds, replay);
    if (!comparisons) return fail(exit_code_of(comparisons.error()), comparisons.error());
    return put_comparison("takt replay " + arguments.trace + ", settings compared", *comparisons, arguments.common);
  }
  auto report = replay_once(**session, arguments, "");
  if (!report) return fail(exit_code_of(report.error()), report.error());
  return put_report(*report, arguments.common);
}

}  // namespace

void add_replay_command(CLI::App& app, ChosenCommand& chosen) {
  auto* command = app.add_subcommand("replay", "Play a trace against any server of the OpenAI API, and judge it");
  auto arguments = std::make_shared<ReplayArguments>();
  command->add_option("trace", arguments->trace, "Trace file, or a folder of captured ones")->required();
  command->add_option("url", arguments->common.url, "http[s]://HOST[:PORT][/PREFIX]")->required();
  command->add_option("--speed", arguments->speed, "Of time: 2 plays an hour in half an hour")
      ->check(number_in(0.001, 1000.0));
  command->add_option("--scale", arguments->scale, "Of the number of requests, in the same time and shape")
      ->check(number_in(0.001, 1000.0));
  command->add_option("--first", arguments->first, "Only so many requests")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40U));
  command->add_flag("--skip-malformed", arguments->skip_malformed, "Skip lines that cannot be read, and count them");
  command->add_flag("--sessions-wait", arguments->sessions_wait,
                    "A turn is sent when the answer before is there, and not before its instant");
  command->add_flag("--keep-long", arguments->keep_long, "Send also what is longer than the server says it takes");
  command
      ->add_option("--configs", arguments->configs,
                   "Settings files for a Takt server: each is applied, in turns, and compared with the first")
      ->delimiter(',');
  command->add_option("--rounds", arguments->rounds, "Replays of each of --configs")->check(CLI::Range(1, 100));
  add_bench_options(*command, arguments->common);
  command->callback([&chosen, arguments] { chosen = [arguments] { return run_replay(*arguments); }; });
}

}  // namespace takt::app
