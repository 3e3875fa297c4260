// Options that `takt bench` and `takt replay` have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace takt::app {

struct BenchOptions {
  std::string url;
  // The server and how it is asked.
  std::string api_key;
  std::string model;
  std::string endpoint = "chat";
  bool no_stream = false;
  bool insecure = false;
  std::string ca_file;
  std::optional<double> temperature = 0.0;
  std::optional<std::string> tokenizer;  // GGUF file, or a name
  std::vector<std::string> headers;      // "NAME: VALUE"
  std::vector<std::string> notes;        // "NAME=VALUE", for the report
  // The run.
  std::optional<double> duration_seconds;
  std::optional<std::uint64_t> requests;
  std::optional<double> warm_up_seconds;
  double drain_seconds = 60.0;
  double timeout_seconds = 600.0;
  std::uint32_t limit_concurrency = 0;
  bool honour_retry_after = false;
  bool no_labels = false;
  std::uint64_t seed = 1;
  bool repeat_texts = false;
  // Targets of classes that have none of their own.
  std::optional<double> ttft_seconds, itl_seconds, tpot_seconds, end_to_end_seconds;
  // What is written.
  std::string json, markdown, html, records;  // files; "-": standard output, for the first two
  bool quiet = false;
};

void add_bench_options(CLI::App& command, BenchOptions& options);

}  // namespace takt::app
