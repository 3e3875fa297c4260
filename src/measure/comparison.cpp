#include "measure/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "measure/percentile.h"

namespace takt::measure {
namespace {

constexpr double kSameWork = 0.02;
constexpr std::array<double, 3> kCompared{0.5, 0.9, 0.99};
constexpr std::array<const char*, 3> kComparedNames{"p50", "p90", "p99"};

using Pick = std::optional<Duration> (*)(const AnswerSample&);

std::vector<double> pick_seconds(const MeasuredRun& run, Pick pick) {
  std::vector<double> values;
  for (const auto& sample : run.samples) {
    if (!sample.measured) continue;
    if (const auto value = pick(sample)) values.push_back(to_seconds(*value));
  }
  return values;
}

Interval interval_of_difference(const std::vector<double>& before, const std::vector<double>& after) {
  std::vector<double> differences(std::min(before.size(), after.size()));
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] = after[i] - before[i];
  return middle(std::move(differences));
}

void compare_latency(Comparison& result, const std::string& name, const std::array<std::vector<double>, 2>& values,
                     std::uint64_t seed) {
  // Seeds differ, or equal draws would make equal noise look like agreement.
  const auto before = bootstrap_quantiles(values[0], kCompared, {.seed = seed, .resamples = 1000});
  const auto after = bootstrap_quantiles(values[1], kCompared, {.seed = seed + 1, .resamples = 1000});
  std::array<std::vector<double>, 2> sorted = values;
  for (auto& one : sorted) std::sort(one.begin(), one.end());
  for (std::size_t i = 0; i < kCompared.size(); ++i) {
    const auto first = reported_percentile(sorted[0], kCompared[i]);
    const auto second = reported_percentile(sorted[1], kCompared[i]);
    if (!first || !second) continue;
    result.differences.push_back(
        {name + " " + kComparedNames[i], "s", *first, *second, interval_of_difference(before[i], after[i]), true});
  }
}

// The offered requests in the order in which they were over, with the time that each took the run further.
struct OfferedRequests {
  std::vector<double> met;    // 1: all its targets, else 0
  std::vector<double> spans;  // seconds since the one before it was over; together the window
};

OfferedRequests offered_requests(const MeasuredRun& run) {
  std::vector<std::pair<TimePoint, double>> over;
  for (const auto& sample : run.samples) {
    if (!sample.measured || sample.record.outcome == Outcome::kCancelled) continue;
    const TimePoint at = std::clamp(sample.record.times.end.value_or(run.end), run.begin, std::max(run.begin, run.end));
    over.emplace_back(at, met_all_targets(sample.record) ? 1.0 : 0.0);
  }
  std::stable_sort(over.begin(), over.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  OfferedRequests offered;
  TimePoint before = run.begin;
  for (const auto& [at, met] : over) {
    offered.met.push_back(met);
    offered.spans.push_back(to_seconds(at - before));
    before = at;
  }
  if (!over.empty()) offered.spans.back() += to_seconds(run.end - before);
  return offered;
}

double mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

// Where the window is a rule's and as much was offered in both runs, the rate is no matter of chance. Else it is: where
// the window ends with the last answer, a late one alone makes it longer.
bool same_offer(const MeasuredRun& before, const MeasuredRun& after, std::size_t first, std::size_t second) {
  return before.end - before.begin == after.end - after.begin && first == second;
}

void compare_goodput(Comparison& result, const MeasuredRun& before, const MeasuredRun& after, std::uint64_t seed) {
  const OfferedRequests first = offered_requests(before);
  const OfferedRequests second = offered_requests(after);
  if (first.met.size() < 20 || second.met.size() < 20) return;
  const BootstrapOptions first_draws{.seed = seed, .resamples = 1000};
  const BootstrapOptions second_draws{.seed = seed + 1, .resamples = 1000};
  auto first_figures = bootstrap_means(first.met, first_draws);
  auto second_figures = bootstrap_means(second.met, second_draws);
  result.differences.push_back({"attainment", "share", mean(first.met), mean(second.met),
                                interval_of_difference(first_figures, second_figures), false});
  if (before.end <= before.begin || after.end <= after.begin) return;
  const double first_rate = static_cast<double>(first.met.size()) / to_seconds(before.end - before.begin);
  const double second_rate = static_cast<double>(second.met.size()) / to_seconds(after.end - after.begin);
  if (same_offer(before, after, first.met.size(), second.met.size())) {
    for (auto& figure : first_figures) figure *= first_rate;
    for (auto& figure : second_figures) figure *= second_rate;
  } else {
    first_figures = bootstrap_ratios(first.met, first.spans, first_draws);
    second_figures = bootstrap_ratios(second.met, second.spans, second_draws);
  }
  result.differences.push_back({"goodput", "requests/s", mean(first.met) * first_rate, mean(second.met) * second_rate,
                                interval_of_difference(first_figures, second_figures), false});
}

struct MeanLengths {
  double prompt = 0.0;
  double output = 0.0;
};

MeanLengths mean_lengths(const MeasuredRun& run) {
  std::vector<double> prompts;
  std::vector<double> outputs;
  for (const auto& sample : run.samples) {
    if (!sample.measured || sample.record.outcome != Outcome::kComplete) continue;
    prompts.push_back(sample.prompt_tokens.value_or(sample.prompt_asked));
    outputs.push_back(sample.record.times.tokens);
  }
  return {mean(prompts), mean(outputs)};
}

std::optional<std::string> length_fault(const char* what, double before, double after) {
  if (std::abs(after - before) <= kSameWork * std::max(before, after)) return std::nullopt;
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), "mean %s length differs: %.1f and %.1f tokens (more than %.0f %%)", what,
                before, after, kSameWork * 100.0);
  return std::string(text.data());
}

}  // namespace

std::optional<std::string> different_work(const MeasuredRun& before, const MeasuredRun& after) {
  const auto first = mean_lengths(before);
  const auto second = mean_lengths(after);
  if (auto fault = length_fault("prompt", first.prompt, second.prompt)) return fault;
  return length_fault("answer", first.output, second.output);
}

Comparison compare(const MeasuredRun& before, const MeasuredRun& after, std::uint64_t seed) {
  struct Figure {
    const char* name;
    Pick pick;
  };
  static constexpr auto kComplete = +[](const AnswerSample& s) { return s.record.outcome == Outcome::kComplete; };
  const std::array<Figure, 5> figures{{
      {"ttft", [](const AnswerSample& s) { return time_to_first_token(s.record.times); }},
      {"worst gap",
       [](const AnswerSample& s) {
         return kComplete(s) && !s.gaps.empty() ? std::optional(s.record.times.worst_gap) : std::nullopt;
       }},
      {"tpot",
       [](const AnswerSample& s) { return kComplete(s) ? time_per_output_token(s.record.times) : std::nullopt; }},
      {"ntpot",
       [](const AnswerSample& s) {
         return kComplete(s) ? normalized_time_per_output_token(s.record.times) : std::nullopt;
       }},
      {"e2e", [](const AnswerSample& s) { return kComplete(s) ? end_to_end(s.record.times) : std::nullopt; }},
  }};
  Comparison result;
  compare_goodput(result, before, after, seed);
  for (const auto& figure : figures)
    compare_latency(result, figure.name, {pick_seconds(before, figure.pick), pick_seconds(after, figure.pick)}, seed);
  return result;
}

}  // namespace takt::measure
