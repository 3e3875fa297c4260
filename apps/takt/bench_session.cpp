#include "bench_session.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <utility>

#include "bench_progress.h"
#include "exec/fake/fake_script.h"
#include "load/asio_transport.h"
#include "model/gguf.h"
#include "model/vocabulary.h"
#include "model_source.h"
#include "report/figures.h"
#include "stop_signals.h"
#include "text/tokenizer.h"
#include "version.h"

namespace takt::app {
namespace {

constexpr double kBusyShare = 0.8;  // of a core: from here on the generator may be what is measured

Result<load::CountTokens> local_tokenizer(const std::string& model) {
  const auto source = find_model(model);
  if (!source) return source.error();
  Result<ModelVocabulary> vocabulary = Error::internal("no vocabulary");
  if (source->script) {
    vocabulary = fake_vocabulary(*source->script);
  } else {
    const auto file = GgufFile::open(source->path);
    if (!file) return file.error();
    vocabulary = read_vocabulary(*file);
  }
  if (!vocabulary) return vocabulary.error();
  auto tokenizer = Tokenizer::create(std::move(*vocabulary));
  if (!tokenizer) return tokenizer.error();
  std::shared_ptr<const Tokenizer> shared = std::move(*tokenizer);
  return load::CountTokens([shared](std::string_view text) -> Result<std::uint32_t> {
    const auto tokens = shared->encode(text, {});
    if (!tokens) return tokens.error();
    return static_cast<std::uint32_t>(tokens->size());
  });
}

Result<std::vector<std::pair<std::string, std::string>>> read_pairs(const std::vector<std::string>& texts, char between,
                                                                    const char* option) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& text : texts) {
    const auto at = text.find(between);
    if (at == std::string::npos || at == 0 || text.find_first_of("\r\n") != std::string::npos)
      return Error::invalid(option, std::string(option) + " must be NAME" + between + "VALUE on one line");
    const auto value = text.find_first_not_of(' ', at + 1);
    pairs.emplace_back(text.substr(0, at), value == std::string::npos ? "" : text.substr(value));
  }
  return pairs;
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string wall_clock() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string setting_text(const load::ServerFacts& facts, const std::vector<std::string>& names) {
  std::string text;
  for (const auto& [name, value] : facts.settings) {
    for (const auto& wanted : names) {
      if (name == wanted) text += (text.empty() ? "" : ", ") + name + " = " + value;
    }
  }
  return text.empty() ? "not told by the server" : text;
}

// So that no run finds its prompts in the prefix cache because another one sent them before.
std::uint64_t salt_of_now() {
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
}

}  // namespace

BenchSession::BenchSession(BenchOptions options, std::unique_ptr<load::Transport> transport, load::ServerFacts facts)
    : options_(std::move(options)), transport_(std::move(transport)), facts_(std::move(facts)) {}

Result<std::unique_ptr<BenchSession>> BenchSession::open(const BenchOptions& options) {
  const auto url = load::parse_server_url(options.url);
  if (!url) return url.error();
  const auto headers = read_pairs(options.headers, ':', "--header");
  if (!headers) return headers.error();
  const auto notes = read_pairs(options.notes, '=', "--note");
  if (!notes) return notes.error();
  load::ProbeOptions probe;
  probe.model = options.model;
  probe.endpoint = options.endpoint == "chat" ? load::Endpoint::kChat : load::Endpoint::kCompletions;
  probe.stream = !options.no_stream;
  probe.temperature = options.temperature;
  probe.headers = *headers;
  probe.patience = std::min(probe.patience, from_seconds(options.timeout_seconds));
  if (options.tokenizer) {
    auto count = local_tokenizer(*options.tokenizer);
    if (!count) return Error::invalid("--tokenizer", "--tokenizer: " + count.error().message);
    probe.local_tokenizer = std::move(*count);
    probe.local_tokenizer_name = "the tokenizer of " + *options.tokenizer;
  }
  auto transport = load::make_asio_transport(
      *url, {.api_key = options.api_key, .verify_peer = !options.insecure, .ca_file = options.ca_file});
  if (!transport) return transport.error();
  auto facts = load::learn_about_server(**transport, probe);
  if (!facts) {
    Error error = facts.error();
    error.message = url->text() + ": " + error.message;
    return error;
  }
  return std::unique_ptr<BenchSession>(new BenchSession(options, std::move(*transport), std::move(*facts)));
}

bool BenchSession::interrupted() {
  return stop_signals_received() > 0;
}

void BenchSession::read_settings_again() {
  facts_.settings = load::read_settings(*transport_, std::chrono::seconds(30));
}

load::RunOptions BenchSession::run_options(const Plan& plan) const {
  load::RunOptions run;
  run.warm_up = from_seconds(plan.warm_up_seconds);
  if (plan.duration_seconds) run.measured = from_seconds(*plan.duration_seconds);
  run.requests = options_.requests;
  run.drain = from_seconds(options_.drain_seconds);
  run.timeout = from_seconds(options_.timeout_seconds);
  run.limit_concurrency = options_.limit_concurrency;
  run.honour_retry_after = options_.honour_retry_after;
  run.sessions_wait = plan.sessions_wait;
  run.send_labels = facts_.is_takt && !options_.no_labels;
  run.overhead = facts_.overhead;
  run.form = facts_.form;
  // Checked when the session was opened.
  if (auto headers = read_pairs(options_.headers, ':', "--header")) run.headers = std::move(*headers);
  run.interrupted = [] { return interrupted(); };
  if (!options_.quiet) run.on_progress = show_progress(plan.progress_label);
  return run;
}

void BenchSession::note_server(report::RunReport& report) const {
  auto& facts = report.server;
  facts.push_back({"server", options_.url + (facts_.is_takt ? " (Takt)" : "")});
  facts.push_back({"model", facts_.form.model.empty() ? "not told by the server" : facts_.form.model});
  if (facts_.most_tokens) facts.push_back({"longest request", std::to_string(*facts_.most_tokens) + " tokens"});
  facts.push_back(
      {"maximum sequences", setting_text(facts_, {"scheduler.max_sequences", "scheduler.preset", "scheduler.order"})});
  facts.push_back({"step budget", setting_text(facts_, {"scheduler.step_target_ms", "scheduler.max_step_ms",
                                                        "scheduler.max_step_tokens"})});
  facts.push_back({"KV allocation", setting_text(facts_, {"scheduler.reserve", "scheduler.admission", "compute.kv_type",
                                                          "compute.kv_blocks", "kv.prefix_cache"})});
  facts.push_back({"preemption", setting_text(facts_, {"scheduler.preemption"})});
  facts.push_back({"prompts' lengths",
                   std::string(facts_.palette.exact ? "exact, counted by " : "ESTIMATED, from ") +
                       facts_.palette.source +
                       (facts_.overhead_known ? "; the server adds " + std::to_string(facts_.overhead) + " tokens"
                                              : "; what the server adds is not known")});
  facts.push_back(
      {"prompts' texts", options_.repeat_texts ? "the same in every run with this seed" : "of this run alone"});
  facts.push_back({"answers' lengths", facts_.length_forced
                                           ? "forced (ignore_eos, min_tokens)"
                                           : "NOT forced: the server decides, up to the length asked for"});
  if (const auto notes = read_pairs(options_.notes, '=', "--note")) {
    for (const auto& [name, value] : *notes) facts.push_back({name, value});
  }
}

void BenchSession::note_generator(report::RunReport& report, const load::RunResult& result, double cpu_share) const {
  using report::seconds_text;
  const auto& lag = report.verdict.lag;
  report.generator.push_back({"send lag", "p50 " + seconds_text(lag.p50) + ", p99 " + seconds_text(lag.p99) +
                                              ", most " + seconds_text(lag.most) +
                                              " (limit for p99: " + seconds_text(lag.limit) + ")"});
  report.generator.push_back({"its own CPU", report::share_text(cpu_share) + " of a core"});
  report.generator.push_back({"its own clock ran late", "p99 " + seconds_text(result.loop_delay_p99) + ", most " +
                                                            seconds_text(result.loop_delay_most)});
  report.generator.push_back(
      {"last answers were served", result.drained_under_load ? "under continued load" : "by an emptying server"});
  if (cpu_share > kBusyShare)
    report.warnings.push_back("the load generator used " + report::share_text(cpu_share) +
                              " of a core: it may be the bottleneck");
  if (result.raised_prompts > 0)
    report.warnings.push_back(
        std::to_string(result.raised_prompts) +
        " prompts were shorter than what the server adds anyway, and were sent one token longer than that");
  if (!facts_.palette.exact)
    report.warnings.emplace_back("prompt lengths are estimated; the realised ones are in the table");
  if (!facts_.length_forced)
    report.warnings.emplace_back("answer lengths are not forced: runs may differ in the work they ask for");
  if (result.source_error) report.warnings.push_back("the load ended early: " + result.source_error->message);
}

Result<report::RunReport> BenchSession::run(Plan plan) {
  report::RunReport report;
  report.started = wall_clock();
  report.build = version_line();
  catch_stop_signals();
  loading_is_done();
  const load::PromptWriter writer(facts_.palette, options_.repeat_texts ? 0 : salt_of_now());
  load::LoadRun run(*transport_, writer, *plan.classes, run_options(plan));
  if (plan.source != nullptr) run.set_source(std::move(plan.source));
  for (auto& closed : plan.closed) run.add_closed(std::move(closed));
  const double cpu_before = cpu_seconds();
  const TimePoint began = transport_->now();
  auto result = run.execute();
  const double cpu_share = (cpu_seconds() - cpu_before) / std::max(1e-6, to_seconds(transport_->now() - began));
  if (!options_.quiet) end_progress();
  if (result.source_error && result.run.samples.empty()) return *result.source_error;
  report.partial = result.interrupted;
  report.run = std::move(result.run);
  report.verdict = measure::judge(report.run, {.open_load = result.open_load, .seed = options_.seed});
  note_server(report);
  note_generator(report, result, cpu_share);
  return report;
}

}  // namespace takt::app
