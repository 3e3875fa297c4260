#include "bench_options.h"

#include <CLI/CLI.hpp>

#include "number_in.h"

namespace takt::app {
namespace {

constexpr double kMostSeconds = 1e7;

void add_server_options(CLI::App& command, BenchOptions& options) {
  command.add_option("--api-key", options.api_key, "The server's key")->envname("TAKT_API_KEY");
  command.add_option("--model", options.model, "The model's name there (its first one without)");
  command.add_option("--endpoint", options.endpoint, "Which API")->check(CLI::IsMember({"chat", "completions"}));
  command.add_flag("--no-stream", options.no_stream, "Whole answers: then TTFT is E2E, and there are no gaps");
  command.add_flag("--insecure", options.insecure, "https: do not check certificates");
  command.add_option("--ca-file", options.ca_file, "https: trust these certificates too");
  command.add_option("--temperature", options.temperature, "Of the answers")
      ->check(number_in(0.0, 10.0))
      ->default_str("0");
  command.add_option("--tokenizer", options.tokenizer,
                     "GGUF file (or name, or fake:) whose tokenizer counts, where the server has none to ask");
  command.add_option("--header", options.headers, "'NAME: VALUE' for every request (repeatable)");
  command.add_option("--note", options.notes,
                     "NAME=VALUE for the report, e.g. max_sequences=32 of a server that tells nothing");
}

void add_run_options(CLI::App& command, BenchOptions& options) {
  command.add_option("--duration", options.duration_seconds, "Seconds in which measured requests are offered")
      ->check(number_in(0.001, kMostSeconds));
  command.add_option("--requests", options.requests, "Measured requests, at most")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40U));
  command.add_option("--warm-up", options.warm_up_seconds, "Seconds before, not measured")
      ->check(number_in(0.0, kMostSeconds));
  command.add_option("--drain", options.drain_seconds, "Longest wait for the last measured answers")
      ->check(number_in(0.0, kMostSeconds));
  command.add_option("--timeout", options.timeout_seconds, "Longest wait for one answer")
      ->check(number_in(0.001, kMostSeconds));
  command.add_option("--limit-concurrency", options.limit_concurrency,
                     "At most so many requests in flight; who waits for that waits on the server's account");
  command.add_flag("--honour-retry-after", options.honour_retry_after,
                   "Send refused requests again when the server says so");
  command.add_flag("--no-labels", options.no_labels, "Do not tell a Takt server class, application, tenant and user");
  command.add_option("--seed", options.seed, "Of arrivals and lengths");
  command.add_flag("--repeat-texts", options.repeat_texts,
                   "The same texts in every run with this seed, which a server may find in its prefix cache");
  command.add_option("--ttft", options.ttft_seconds, "Target in seconds, of classes without one")
      ->check(number_in(0.0, kMostSeconds));
  command.add_option("--itl", options.itl_seconds, "The same, for an answer's worst gap")
      ->check(number_in(0.0, kMostSeconds));
  command.add_option("--tpot", options.tpot_seconds, "The same, for (last - first) / (n - 1)")
      ->check(number_in(0.0, kMostSeconds));
  command.add_option("--end-to-end", options.end_to_end_seconds, "The same, for the whole answer")
      ->check(number_in(0.0, kMostSeconds));
}

void add_output_options(CLI::App& command, BenchOptions& options) {
  command.add_option("--json", options.json,
                     "Write the report as JSON; '-': to standard output, and nothing else there");
  command.add_option("--markdown", options.markdown, "Write the report as Markdown (standard output has it anyway)");
  command.add_option("--html", options.html, "Write the report as one file of HTML");
  command.add_option("--records", options.records, "Write a line of JSON for each request, with every token's instant");
  command.add_flag("--quiet", options.quiet, "No progress on standard error");
}

}  // namespace

void add_bench_options(CLI::App& command, BenchOptions& options) {
  add_server_options(command, options);
  add_run_options(command, options);
  add_output_options(command, options);
}

}  // namespace takt::app
