#include "report_bench.h"

#include <chrono>
#include <cstdio>

#include "base/random.h"
#include "measure/verdict.h"
#include "report/report_html.h"
#include "report/report_json.h"

namespace takt::bench {
namespace {

constexpr std::uint32_t kTokens = 64;

measure::MeasuredRun many_requests(std::size_t count) {
  measure::MeasuredRun run;
  run.classes = {"chat", "code"};
  run.applications = {"-"};
  run.end = run.begin + from_seconds(static_cast<double>(count) / 20.0);
  for (std::size_t i = 0; i < count; ++i) {
    measure::AnswerSample sample;
    auto& times = sample.record.times;
    times.scheduled = times.sent = run.begin + from_seconds(static_cast<double>(i) / 20.0);
    TimePoint at = times.scheduled + from_seconds(0.05 + 0.2 * uniform01(1, i));
    for (std::uint32_t t = 0; t < kTokens; ++t) {
      if (const auto gap = measure::note_tokens(times, at)) sample.gaps.push_back(*gap);
      at += from_seconds(0.01 + 0.02 * uniform01(2, i * kTokens + t));
    }
    times.end = times.last_token;
    sample.class_index = i % 2;
    sample.prompt_tokens = sample.prompt_asked = static_cast<std::uint32_t>(10 + i % 4000);
    sample.output_tokens = sample.output_asked = kTokens;
    sample.record.targets.ttft = from_seconds(0.2);
    run.samples.push_back(std::move(sample));
  }
  return run;
}

}  // namespace

void bench_report(std::size_t requests) {
  report::RunReport report;
  report.title = "report bench";
  report.run = many_requests(requests);
  const auto start = std::chrono::steady_clock::now();
  report.verdict = measure::judge(report.run);
  const auto judged = std::chrono::steady_clock::now();
  const auto html = report::to_html(report);
  const auto drawn = std::chrono::steady_clock::now();
  const auto json = report::to_json(report);
  const auto written = std::chrono::steady_clock::now();
  std::printf(
      "report of %zu requests with %u tokens each: verdict %.2f s, HTML %.2f s (%.2f MB), JSON %.2f s (%.1f MB); "
      "verdict and HTML %.2f s (target < 3 s, < 10 MB)\n",
      requests, kTokens, to_seconds(judged - start), to_seconds(drawn - judged), static_cast<double>(html.size()) / 1e6,
      to_seconds(written - drawn), static_cast<double>(json.size()) / 1e6, to_seconds(drawn - start));
}

}  // namespace takt::bench
