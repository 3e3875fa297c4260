// `takt bench`: load on any server of the OpenAI API, and what came of it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench_compare.h"
#include "bench_options.h"
#include "bench_output.h"
#include "bench_session.h"
#include "commands.h"
#include "load/home_profile.h"
#include "number_in.h"
#include "output_files.h"
#include "report/figures.h"

namespace takt::app {
namespace {

constexpr double kUsualDuration = 60.0;
constexpr double kMostWarmUp = 30.0;
constexpr double kWarmUpShare = 0.2;

struct BenchArguments {
  BenchOptions common;
  load::ClassSettings one;  // by options of their own
  std::vector<std::string> classes;
  std::string load_file;
  std::string profile;
  std::uint32_t people = 4;
  double length_factor = 1.0;
  bool keep_long = false;
  bool find_capacity = false;
  double attainment = 0.9;
  std::uint32_t most_tries = 10;
  CompareArguments compare;
};

Result<std::vector<load::ClassSettings>> class_settings(const BenchArguments& arguments) {
  std::vector<load::ClassSettings> all;
  if (!arguments.load_file.empty()) {
    auto read = load::read_load_file(arguments.load_file);
    if (!read) return read.error();
    all = std::move(*read);
  }
  for (const auto& text : arguments.classes) {
    auto parsed = load::parse_class(text);
    if (!parsed) return parsed.error();
    all.push_back(std::move(*parsed));
  }
  if (all.empty()) {
    load::ClassSettings one = arguments.one;
    if (one.rate == 0.0 && one.users == 0 && one.arrivals != "burst") one.rate = 1.0;
    all.push_back(std::move(one));
  }
  for (auto& one : all) {
    const auto fill = [](std::optional<double>& target, const std::optional<double>& given) {
      if (!target) target = given;
    };
    fill(one.ttft, arguments.common.ttft_seconds);
    fill(one.itl, arguments.common.itl_seconds);
    fill(one.tpot, arguments.common.tpot_seconds);
    fill(one.end_to_end, arguments.common.end_to_end_seconds);
    load::add_usual_targets(one);
  }
  return all;
}

std::optional<double> duration_of(const BenchOptions& options) {
  if (options.duration_seconds) return options.duration_seconds;
  return options.requests ? std::nullopt : std::optional(kUsualDuration);
}

// Where nobody says: a fifth of the run, at most half a minute; none where there is no length to take a part of.
double warm_up_of(const BenchOptions& options) {
  if (options.warm_up_seconds) return *options.warm_up_seconds;
  const auto duration = duration_of(options);
  return duration ? std::min(kMostWarmUp, kWarmUpShare * *duration) : 0.0;
}

void note_load(report::RunReport& report, const std::vector<load::ClassSettings>& classes, double factor,
               const BenchArguments& arguments) {
  for (const auto& one : classes) {
    const std::string of =
        classes.size() > 1 ? " of " + one.name + (one.application.empty() ? "" : " (" + one.application + ")") : "";
    report.load.push_back({"arrivals" + of, load::describe_arrivals(one, factor)});
    std::string lengths =
        one.lengths.empty() ? "prompt " + one.prompt + ", answer " + one.output + " tokens" : "pairs of " + one.lengths;
    if (one.shared_prefix > 0) lengths += ", " + std::to_string(one.shared_prefix) + " of the prompt shared";
    if (one.cancel_share > 0.0) lengths += ", " + report::share_text(one.cancel_share) + " cancelled";
    report.load.push_back({"lengths asked for" + of, lengths});
  }
  report.load.push_back({"warm-up", report::seconds_text(warm_up_of(arguments.common))});
  report.load.push_back({"seed", std::to_string(arguments.common.seed)});
  if (arguments.common.limit_concurrency > 0)
    report.load.push_back({"limit of concurrency", std::to_string(arguments.common.limit_concurrency)});
  report.load.push_back({"retries", arguments.common.honour_retry_after ? "after Retry-After" : "none"});
}

// One run at a multiple of the rates that were asked for.
Result<report::RunReport> run_once(BenchSession& session, const BenchArguments& arguments,
                                   const std::vector<load::ClassSettings>& classes, double factor, std::string label) {
  const auto duration = duration_of(arguments.common);
  const double warm_up = warm_up_of(arguments.common);
  auto made = load::make_load(classes, {.rate_factor = factor,
                                        .span = from_seconds(warm_up + duration.value_or(kUsualDuration)),
                                        .most = arguments.common.requests.value_or(100),
                                        .seed = arguments.common.seed});
  if (!made) return made.error();
  const bool burst =
      std::any_of(classes.begin(), classes.end(), [](const auto& one) { return one.arrivals == "burst"; });
  BenchSession::Plan plan;
  plan.source = std::move(made->source);
  plan.closed = std::move(made->closed);
  plan.classes = &made->classes;
  // A burst has no end of its own to wait for: its window is the time that it takes.
  if (!burst) plan.duration_seconds = duration;
  plan.warm_up_seconds = burst ? 0.0 : warm_up;
  plan.progress_label = std::move(label);
  auto report = session.run(std::move(plan));
  if (!report) return report;
  report->title = "takt bench " + arguments.common.url;
  note_load(*report, classes, factor, arguments);
  return report;
}

Result<report::RunReport> run_home(BenchSession& session, const BenchArguments& arguments) {
  const load::HomeOptions home{.people = arguments.people,
                               .length = from_seconds(arguments.common.duration_seconds.value_or(600.0)),
                               .length_factor = arguments.length_factor,
                               .seed = arguments.common.seed};
  auto made = load::make_home_load(home);
  if (!made) return made.error();
  BenchSession::Plan plan;
  plan.source = std::move(made->source);
  plan.classes = &made->classes;
  auto report = session.run(std::move(plan));
  if (!report) return report;
  report->title = "takt bench " + arguments.common.url + ", a household";
  report->load.push_back({"load", "a household of " + std::to_string(arguments.people) + " (invented), a day in " +
                                      report::seconds_text(to_seconds(home.length))});
  note_load(*report, load::describe_home_load(home), 1.0, arguments);
  report->load.erase(
      std::remove_if(report->load.begin(), report->load.end(), [](const auto& f) { return f.name == "warm-up"; }),
      report->load.end());
  return report;
}

double total_rate(const std::vector<load::ClassSettings>& classes) {
  double rate = 0.0;
  for (const auto& one : classes) rate += one.rate;
  return rate;
}

Result<report::RunReport> find_capacity(BenchSession& session, const BenchArguments& arguments,
                                        const std::vector<load::ClassSettings>& classes) {
  const double base = total_rate(classes);
  if (base <= 0.0) return Error::invalid("--find-capacity", "--find-capacity needs an open load: a rate");
  measure::CapacitySearch search(
      {.attainment = arguments.attainment, .first_rate = base, .most_tries = arguments.most_tries});
  std::optional<report::RunReport> best;
  std::optional<report::RunReport> last;
  std::string why_stopped;
  while (const auto rate = search.next_rate()) {
    auto report = run_once(session, arguments, classes, *rate / base, report::number_text(*rate) + " requests/s");
    if (!report) return report;
    if (report->partial) {
      last = std::move(*report);
      break;
    }
    const auto& verdict = report->verdict;
    const auto attainment = verdict.overall.goodput.attainment();
    measure::RateTrial trial{*rate, attainment.value_or(0.0),     verdict.overall.attainment,
                             0.0,   verdict.saturation.saturated, verdict.valid() && attainment.has_value()};
    if (verdict.window_seconds > 0.0)
      trial.goodput = verdict.overall.goodput.requests_per_second(from_seconds(verdict.window_seconds));
    const auto before = search.capacity();
    search.note(trial);
    if (search.stopped_at()) why_stopped = verdict.valid() ? "no request was judged" : verdict.faults.front();
    if (search.capacity() != before) best = *report;
    last = std::move(*report);
  }
  report::RunReport report = best ? std::move(*best) : std::move(*last);
  report.partial = BenchSession::interrupted();
  report.trials = search.trials();
  report.capacity = search.capacity();
  report.capacity_is_bounded = search.is_bounded();
  report.capacity_interval = search.interval();
  report.capacity_stopped_at = search.stopped_at();
  report.wanted_attainment = arguments.attainment;
  if (const auto at = search.stopped_at())
    report.warnings.push_back("at " + report::number_text(*at) + " requests/s " + why_stopped);
  return report;
}

std::vector<std::string> input_files(const BenchArguments& arguments, const std::vector<load::ClassSettings>& classes) {
  std::vector<std::string> files{arguments.load_file};
  for (const auto& one : classes) files.push_back(one.lengths);
  return files;
}

ExitCode run_bench(const BenchArguments& arguments) {
  if (arguments.common.url.empty())
    return fail(ExitCode::kUsage, Error::invalid("url", "which server? takt bench URL"));
  const auto classes = class_settings(arguments);
  if (!classes) return fail(ExitCode::kUsage, classes.error());
  if (const auto status = check_outputs(report_files(arguments.common), input_files(arguments, *classes)); !status)
    return fail(ExitCode::kUsage, status.error());
  // What cannot be made is said before anybody is asked.
  const bool own_load = arguments.profile.empty();
  const auto made = load::make_load(*classes, {.span = from_seconds(kUsualDuration)});
  if (own_load && !made) return fail(exit_code_of(made.error()), made.error());
  auto session = BenchSession::open(arguments.common);
  if (!session) return fail(exit_code_of(session.error()), session.error());
  const auto most_tokens = (*session)->server().most_tokens;
  if (own_load && most_tokens && !arguments.keep_long) {
    if (const auto fits = load::check_context(*made, *most_tokens); !fits)
      return fail(exit_code_of(fits.error()), fits.error());
  }
  auto report = !arguments.profile.empty() ? run_home(**session, arguments)
                : arguments.find_capacity  ? find_capacity(**session, arguments, *classes)
                                           : run_once(**session, arguments, *classes, 1.0, "");
  if (!report) return fail(exit_code_of(report.error()), report.error());
  return put_report(*report, arguments.common);
}

// What describes the one class of a load that has no classes of its own.
std::vector<CLI::Option*> add_class_options(CLI::App& command, load::ClassSettings& one) {
  auto* rate = command.add_option("--rate", one.rate, "Requests per second (1 where nothing is said)")
                   ->check(number_in(1e-6, 1e6))
                   ->default_str("");
  auto* arrivals = command.add_option(
      "--arrivals", one.arrivals,
      "poisson, even, gamma:BURSTINESS, onoff:OFF_RATE,ON_S,OFF_S, ramp:TO_RATE, steps:R,R,..., burst");
  auto* users =
      command.add_option("--users", one.users, "A closed load instead: so many people, each waiting for the answer")
          ->check(CLI::Range(1, 100'000));
  auto* think = command.add_option("--think", one.think, "Seconds between answer and next request, or exp:MEAN");
  auto* turns = command.add_option("--turns", one.turns, "Of a conversation, each with all before it")
                    ->check(CLI::Range(1, 1000));
  auto* prompt =
      command.add_option("--prompt", one.prompt, "Tokens: N, uniform:A-B, lognormal:MEDIAN,SIGMA[,min=N][,max=N]");
  auto* output = command.add_option("--output", one.output, "Tokens, likewise");
  auto* lengths =
      command.add_option("--lengths", one.lengths, "A trace: its pairs of lengths are drawn for prompt and answer")
          ->excludes(prompt, output);
  auto* prefix = command.add_option("--shared-prefix", one.shared_prefix, "Tokens that all prompts begin with");
  auto* share = command.add_option("--cancel-share", one.cancel_share, "Share of requests that are cancelled")
                    ->check(number_in(0.0, 1.0));
  auto* after =
      command.add_option("--cancel-after", one.cancel_after, "Seconds after sending")->check(number_in(0.0, 1e6));
  return {rate, arrivals, users, think, turns, prompt, output, lengths, prefix, share, after};
}

void add_load_options(CLI::App& command, BenchArguments& arguments) {
  const auto own = add_class_options(command, arguments.one);
  auto* classes = command.add_option(
      "--class", arguments.classes,
      "'NAME=VALUE ...': one class of a mixed load (repeatable); names as the options above, and name, ttft, itl, ...");
  auto* file = command.add_option("--load", arguments.load_file, "TOML file with a [[class]] for each class");
  auto* profile = command.add_option("--profile", arguments.profile, "A ready-made load: home")
                      ->check(CLI::IsMember({"home"}))
                      ->excludes(classes, file);
  // Where the classes are given elsewhere, what these say would be said in vain.
  for (CLI::Option* option : own) option->excludes(classes, file, profile);
  command.add_option("--people", arguments.people, "Of the household")->check(CLI::Range(1, 1000))->needs(profile);
  command.add_option("--length-factor", arguments.length_factor, "Of the household's lengths")
      ->check(number_in(0.001, 100.0))
      ->needs(profile);
  command.add_flag("--keep-long", arguments.keep_long, "Also where prompt and answer are more than the server takes")
      ->excludes(profile);
  auto* search =
      command
          .add_flag("--find-capacity", arguments.find_capacity, "Search for the highest rate with enough attainment")
          ->excludes(profile);
  command.add_option("--attainment", arguments.attainment, "Share of requests that must meet their targets")
      ->check(number_in(0.01, 1.0))
      ->needs(search);
  command.add_option("--tries", arguments.most_tries, "Runs of the search, at most")
      ->check(CLI::Range(1, 100))
      ->needs(search);
}

}  // namespace

void add_bench_command(CLI::App& app, ChosenCommand& chosen) {
  auto* command =
      app.add_subcommand("bench", "Load any server of the OpenAI API and judge it; `bench compare` tells runs apart");
  auto arguments = std::make_shared<BenchArguments>();
  command->add_option("url", arguments->common.url, "http[s]://HOST[:PORT][/PREFIX]");
  add_load_options(*command, *arguments);
  add_bench_options(*command, arguments->common);
  auto* compare = command->add_subcommand("compare", "Which differences between reports are real");
  add_compare_options(*compare, arguments->compare);
  command->callback([&chosen, arguments, compare] {
    chosen = [arguments, comparing = compare->parsed()] {
      return comparing ? run_compare(arguments->compare) : run_bench(*arguments);
    };
  });
}

}  // namespace takt::app
