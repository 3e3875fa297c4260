// Runs whose figures are known, for tests of verdicts.
#pragma once

#include <cmath>
#include <vector>

#include "base/random.h"
#include "measure/answer_sample.h"

namespace takt::measure::test {

inline TimePoint at_seconds(double seconds) {
  return TimePoint(from_seconds(seconds));
}

// Sent when scheduled; `tokens` of them, the first after `ttft`, then `gap` apart.
inline AnswerSample answer(double scheduled, double ttft, double gap, std::uint32_t tokens) {
  AnswerSample sample;
  auto& times = sample.record.times;
  times.scheduled = times.sent = at_seconds(scheduled);
  for (std::uint32_t i = 0; i < tokens; ++i) {
    if (const auto one = note_tokens(times, at_seconds(scheduled + ttft + gap * i))) sample.gaps.push_back(*one);
  }
  times.end = times.last_token;
  sample.prompt_tokens = sample.prompt_asked = 100;
  sample.output_tokens = sample.output_asked = tokens;
  return sample;
}

inline MeasuredRun run_of(std::vector<AnswerSample> samples, double seconds) {
  MeasuredRun run;
  run.samples = std::move(samples);
  run.classes = {"chat"};
  run.applications = {"-"};
  run.begin = at_seconds(0);
  run.end = at_seconds(seconds);
  return run;
}

// `count` answers over `count` seconds with log-normal TTFT around `median`.
inline MeasuredRun random_run(std::size_t count, double median, std::uint64_t seed) {
  std::vector<AnswerSample> samples;
  for (std::size_t i = 0; i < count; ++i) {
    const double u = std::max(uniform01(seed, 2 * i), 1e-12);
    const double normal = std::sqrt(-2.0 * std::log(u)) * std::cos(6.283185307179586 * uniform01(seed, 2 * i + 1));
    samples.push_back(answer(static_cast<double>(i), median * std::exp(0.5 * normal), 0.02, 10));
    samples.back().record.targets.ttft = from_seconds(0.3);
  }
  return run_of(std::move(samples), static_cast<double>(count));
}

}  // namespace takt::measure::test
