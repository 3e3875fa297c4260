// The load generator against a server in this process that notes when each token left: how wrong are the instants that
// it sees, how late does it send, what does it cost, and who is the limit when the pace is not kept.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "command_line.h"
#include "load/asio_transport.h"
#include "load/load_run.h"
#include "measure/percentile.h"
#include "pacing_server.h"
#include "report_bench.h"
#include "thread_cpu.h"

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

struct Scenario {
  std::uint32_t streams;
  Pace pace;
  Duration spread;
};

struct Measured {
  std::vector<double> errors;  // seconds by which a token's instant was seen late, sorted
  std::vector<double> lags;    // likewise, of sending
  std::size_t failed = 0;
  // While every stream ran: from the last first token to the first last one.
  std::size_t events_while_all_ran = 0;
  double all_ran_seconds = 0.0;
};

// Calls `take` with each instant at which tokens of an answer were seen.
template <typename Take>
void for_each_instant(const measure::AnswerSample& sample, Take take) {
  if (!sample.record.times.first_token) return;
  TimePoint seen = *sample.record.times.first_token;
  take(seen);
  for (const auto gap : sample.gaps) take(seen += gap);
}

Measured measure_run(const measure::MeasuredRun& run, const PacingServer::Log& server) {
  Measured measured;
  TimePoint all_began = TimePoint::min();
  TimePoint first_ended = TimePoint::max();
  for (const auto& sample : run.samples) {
    measured.lags.push_back(to_seconds(sample.lag));
    measured.failed += sample.record.outcome != measure::Outcome::kComplete;
    const auto& times = sample.record.times;
    if (!times.first_token) continue;
    all_began = std::max(all_began, *times.first_token);
    first_ended = std::min(first_ended, times.last_token);
    const auto found = server.left.find(sample.output_asked);
    if (found == server.left.end()) continue;
    auto left = found->second.begin();
    for_each_instant(sample, [&](TimePoint seen) {
      if (left != found->second.end()) measured.errors.push_back(to_seconds(seen - *left++));
    });
  }
  for (const auto& sample : run.samples) {
    for_each_instant(sample,
                     [&](TimePoint seen) { measured.events_while_all_ran += seen > all_began && seen <= first_ended; });
  }
  if (first_ended > all_began && !measured.errors.empty())
    measured.all_ran_seconds = to_seconds(first_ended - all_began);
  std::sort(measured.errors.begin(), measured.errors.end());
  std::sort(measured.lags.begin(), measured.lags.end());
  return measured;
}

// Who could not have done more.
const char* limit_of(double wanted, double seen, double generator, double server) {
  constexpr double kKeptUp = 0.98;
  if (seen >= kKeptUp * wanted) return "neither: the pace was kept";
  return generator > server ? "the generator" : "the server of this benchmark";
}

void print(const Scenario& scenario, const Measured& measured, double wall, double generator_cpu, double server_cpu) {
  const auto ms = [](const std::vector<double>& values, double p) {
    return measure::percentile(values, p).value_or(0.0) * 1e3;
  };
  const auto events = static_cast<double>(measured.errors.size());
  const double wanted = scenario.streams / to_seconds(scenario.pace.gap);
  const double seen = measured.all_ran_seconds > 0.0
                          ? static_cast<double>(measured.events_while_all_ran) / measured.all_ran_seconds
                          : 0.0;
  std::printf("%u streams of %.0f tokens/s: %zu answers failed, %.0f events in %.1f s\n", scenario.streams,
              1.0 / to_seconds(scenario.pace.gap), measured.failed, events, wall);
  std::printf("  while all ran   %.0f events/s of %.0f, for %.1f s; limit: %s\n", seen, wanted,
              measured.all_ran_seconds, limit_of(wanted, seen, generator_cpu, server_cpu));
  std::printf("  generator       %.2f us of CPU an event, %.1f %% of a core; the server %.2f us, %.1f %%\n",
              1e6 * generator_cpu / events, 100.0 * generator_cpu / wall, 1e6 * server_cpu / events,
              100.0 * server_cpu / wall);
  std::printf(
      "  error           of a token's instant: median %.3f ms, p99 %.3f ms, most %.3f ms; send lag p99 %.3f ms\n",
      ms(measured.errors, 0.5), ms(measured.errors, 0.99), ms(measured.errors, 1.0), ms(measured.lags, 0.99));
}

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
  const auto log = server.stop();
  const Measured measured = measure_run(result.run, log);
  print(scenario, measured, wall, cpu, log.cpu_seconds);
  return measured.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace takt::bench

int main(int argc, char** argv) {
  takt::bench::CommandLine line("The load generator's own error and cost");
  bool small = false;
  std::uint32_t streams = 5000;
  std::uint32_t gap_ms = 100;
  line.flag("--small", small, "Without the many streams and the report");
  line.number("--streams", streams, "How many streams are many", {1, 20'000});
  line.number("--gap-ms", gap_ms, "Between two of their tokens", {1, 10'000});
  if (const auto code = line.parse(argc, argv)) return *code;
  using std::chrono::milliseconds;
  int code = takt::bench::run({32, {500, milliseconds(10)}, milliseconds(7)});
  if (small) return code;
  // Streams begin within a second and run for ten.
  const std::uint32_t tokens = 10'000 / gap_ms;
  code |=
      takt::bench::run({streams, {tokens, milliseconds(gap_ms)}, takt::Duration(std::chrono::seconds(1)) / streams});
  takt::bench::bench_report(100'000);
  return code;
}
