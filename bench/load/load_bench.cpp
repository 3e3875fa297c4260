// The load generator against a server in this process that notes when each token left: how wrong are the instants that
// it sees, how late does it send, and what does it cost.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "load/asio_transport.h"
#include "load/load_run.h"
#include "measure/percentile.h"
#include "pacing_server.h"
#include "report_bench.h"

namespace takt::bench {
namespace {

constexpr std::uint32_t kFirstKey = 1000;  // max_tokens of the first request: each has its own

// One request for each stream, `spread` apart.
class Streams final : public load::RequestSource {
 public:
  Streams(std::uint32_t count, Duration spread) : count_(count), spread_(spread) {}
  Result<std::optional<load::PlannedRequest>> next() override {
    if (sent_ == count_) return std::optional<load::PlannedRequest>();
    load::PlannedRequest request;
    request.at = spread_ * sent_;
    request.prompt_tokens = 50;
    request.output_tokens = kFirstKey + sent_++;
    return std::optional(std::move(request));
  }

 private:
  std::uint32_t count_;
  Duration spread_;
  std::uint32_t sent_ = 0;
};

double thread_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Scenario {
  std::uint32_t streams;
  Pace pace;
  Duration spread;
};

int run(const Scenario& scenario) {
  PacingServer server(scenario.pace);
  const auto url = load::parse_server_url("http://127.0.0.1:" + std::to_string(server.port()));
  auto transport = load::make_asio_transport(*url, {});
  if (!transport) {
    std::fprintf(stderr, "%s\n", transport.error().message.c_str());
    return 1;
  }
  const load::PromptWriter writer(load::estimated_palette(1.0, "bench"));
  const std::vector<load::LoadClass> classes{{"all", "", {}}};
  load::RunOptions options;
  options.form.model = "pace";
  load::LoadRun load(**transport, writer, classes, options);
  load.set_source(std::make_unique<Streams>(scenario.streams, scenario.spread));
  const double cpu_before = thread_cpu_seconds();
  const auto started = std::chrono::steady_clock::now();
  const auto result = load.execute();
  const double wall = to_seconds(std::chrono::steady_clock::now() - started);
  const double cpu = thread_cpu_seconds() - cpu_before;
  const auto left = server.stop();

  std::vector<double> errors;
  std::vector<double> lags;
  std::size_t failed = 0;
  for (const auto& sample : result.run.samples) {
    lags.push_back(to_seconds(sample.lag));
    failed += sample.record.outcome != measure::Outcome::kComplete;
    const auto found = left.find(sample.output_asked);
    if (found == left.end() || !sample.record.times.first_token) continue;
    TimePoint seen = *sample.record.times.first_token;
    for (std::size_t i = 0; i < found->second.size() && i <= sample.gaps.size(); ++i) {
      errors.push_back(to_seconds(seen - found->second[i]));
      if (i < sample.gaps.size()) seen += sample.gaps[i];
    }
  }
  std::sort(errors.begin(), errors.end());
  std::sort(lags.begin(), lags.end());
  const auto at = [](const std::vector<double>& values, double p) {
    return measure::percentile(values, p).value_or(0.0) * 1e3;
  };
  std::printf(
      "%5u streams of %4.0f tokens/s: %8zu tokens, %6.0f events/s, %zu failed | error of a token's instant: median "
      "%.3f ms, "
      "p99 %.3f ms, most %.3f ms | send lag p99 %.3f ms | CPU of the generator %.1f %% of a core\n",
      scenario.streams, 1.0 / to_seconds(scenario.pace.gap), errors.size(), static_cast<double>(errors.size()) / wall,
      failed, at(errors, 0.5), at(errors, 0.99), at(errors, 1.0), at(lags, 0.99), 100.0 * cpu / wall);
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace takt::bench

int main(int argc, char** argv) {
  CLI::App app{"The load generator's own error and cost"};
  bool small = false;
  app.add_flag("--small", small, "Without the 5,000 streams and the report");
  CLI11_PARSE(app, argc, argv);
  using std::chrono::milliseconds;
  int code = takt::bench::run({32, {500, milliseconds(10)}, milliseconds(7)});
  if (small) return code;
  code |= takt::bench::run({5000, {60, milliseconds(100)}, std::chrono::microseconds(200)});
  takt::bench::bench_report(100'000);
  return code;
}
