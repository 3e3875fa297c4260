#include "measure/verdict.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "measure/percentile.h"
#include "measure/quantile_selector.h"

namespace takt::measure {
namespace {

using Members = std::vector<const AnswerSample*>;

constexpr double kLeastLagLimit = 0.010;  // seconds
constexpr double kLagShareOfTarget = 0.05;
constexpr std::size_t kQuartiles = 4;

// Without intervals.
Distribution describe(std::vector<double> values) {
  Distribution result;
  result.samples = values.size();
  if (values.empty()) return result;
  std::sort(values.begin(), values.end());
  result.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  result.least = values.front();
  result.most = values.back();
  for (std::size_t i = 0; i < kShownQuantiles.size(); ++i)
    result.quantiles[i] = reported_percentile(values, kShownQuantiles[i]);
  return result;
}

Distribution describe_surely(const std::vector<double>& values, const VerdictOptions& options) {
  Distribution result = describe(values);
  const auto figures = bootstrap_quantiles(values, kShownQuantiles, {.seed = options.seed});
  for (std::size_t i = 0; i < kShownQuantiles.size(); ++i) {
    if (result.quantiles[i]) result.intervals[i] = middle(figures[i], options.confidence);
  }
  return result;
}

// Of how sure a quantile of pooled gaps is, by the variance between answers.
double gap_share_half_width(const Members& members, double p, double quantile) {
  std::vector<std::uint32_t> counts;
  std::vector<std::uint32_t> below;
  for (const auto* sample : members) {
    if (sample->gaps.empty()) continue;
    counts.push_back(static_cast<std::uint32_t>(sample->gaps.size()));
    below.push_back(static_cast<std::uint32_t>(std::count_if(
        sample->gaps.begin(), sample->gaps.end(), [&](Duration gap) { return to_seconds(gap) <= quantile; })));
  }
  return grouped_share_half_width(p, below, counts);
}

// There are many gaps: they are selected from, not sorted.
Distribution describe_gaps(const Members& members, bool surely) {
  std::vector<double> pooled;
  for (const auto* sample : members) {
    for (const auto gap : sample->gaps) pooled.push_back(to_seconds(gap));
  }
  Distribution result;
  result.samples = pooled.size();
  if (pooled.empty()) return result;
  result.mean = std::accumulate(pooled.begin(), pooled.end(), 0.0) / static_cast<double>(pooled.size());
  QuantileSelector selector(std::move(pooled));
  result.least = selector.quantile(0.0);
  result.most = selector.quantile(1.0);
  for (std::size_t i = 0; i < kShownQuantiles.size(); ++i) {
    const double p = kShownQuantiles[i];
    if (!percentile_is_reportable(result.samples, p)) continue;
    result.quantiles[i] = selector.quantile(p);
    if (!surely) continue;
    const double half = gap_share_half_width(members, p, *result.quantiles[i]);
    result.intervals[i] = Interval{selector.quantile(p - half), selector.quantile(p + half)};
  }
  return result;
}

void add_seconds(std::vector<double>& values, const std::optional<Duration>& duration) {
  if (duration) values.push_back(to_seconds(*duration));
}

Targets common_targets(const Members& members) {
  Targets common = members.front()->record.targets;
  for (const auto* sample : members) {
    const auto& own = sample->record.targets;
    if (own.ttft != common.ttft) common.ttft.reset();
    if (own.itl != common.itl) common.itl.reset();
    if (own.tpot != common.tpot) common.tpot.reset();
    if (own.end_to_end != common.end_to_end) common.end_to_end.reset();
  }
  return common;
}

void count_tokens(Group& group, const AnswerSample& sample) {
  if (sample.prompt_tokens) {
    group.prompt_total += *sample.prompt_tokens;
    if (sample.cached_tokens) {
      group.cached_total += *sample.cached_tokens;
      group.prompt_total_with_cache += *sample.prompt_tokens;
    }
  }
  if (sample.preemptions) group.preemptions = group.preemptions.value_or(0) + *sample.preemptions;
  if (sample.record.outcome != Outcome::kComplete || !sample.prompt_tokens || !sample.output_tokens) return;
  ++group.counted;
  group.prompts_as_asked += *sample.prompt_tokens == sample.prompt_asked;
  group.outputs_as_asked += *sample.output_tokens == sample.output_asked;
}

// The latencies of members, each list in the order of time.
struct Series {
  std::vector<double> ttft, from_send, worst, tpot, ntpot, whole, queue, speed, prompts, outputs, met;

  void add(const AnswerSample& sample) {
    const auto& times = sample.record.times;
    if (sample.record.outcome != Outcome::kCancelled) met.push_back(met_all_targets(sample.record) ? 1.0 : 0.0);
    add_seconds(ttft, time_to_first_token(times));
    if (times.first_token) from_send.push_back(to_seconds(*times.first_token - times.sent));
    add_seconds(queue, sample.queue);
    if (sample.prompt_tokens) prompts.push_back(*sample.prompt_tokens);
    if (sample.record.outcome != Outcome::kComplete) return;
    if (!sample.gaps.empty()) worst.push_back(to_seconds(times.worst_gap));
    const auto per_token = time_per_output_token(times);
    add_seconds(tpot, per_token);
    if (per_token && *per_token > Duration(0)) speed.push_back(1.0 / to_seconds(*per_token));
    add_seconds(ntpot, normalized_time_per_output_token(times));
    add_seconds(whole, end_to_end(times));
    outputs.push_back(times.tokens);
  }
};

Group judge_group(std::string name, const Members& members, const VerdictOptions& options, bool surely) {
  Group group;
  group.name = std::move(name);
  if (members.empty()) return group;
  group.targets = common_targets(members);
  Series series;
  for (const auto* sample : members) {
    count(group.goodput, sample->record);
    ++group.failures[static_cast<std::size_t>(sample->failure)];
    group.retried += sample->retries > 0;
    count_tokens(group, *sample);
    series.add(*sample);
  }
  const auto describe_one = [&](std::vector<double>& values) {
    return surely ? describe_surely(values, options) : describe(std::move(values));
  };
  if (surely && !series.met.empty())
    group.attainment = middle(bootstrap_means(series.met, {.seed = options.seed}), options.confidence);
  group.ttft = describe_one(series.ttft);
  group.worst_gap = describe_one(series.worst);
  group.tpot = describe_one(series.tpot);
  group.ntpot = describe_one(series.ntpot);
  group.end_to_end = describe_one(series.whole);
  group.itl = describe_gaps(members, surely);
  group.ttft_from_send = describe(std::move(series.from_send));
  group.queue = describe(std::move(series.queue));
  group.user_speed = describe(std::move(series.speed));
  group.prompt_tokens = describe(std::move(series.prompts));
  group.output_tokens = describe(std::move(series.outputs));
  return group;
}

std::vector<Group> by_name(const Members& members, const std::vector<std::string>& names,
                           std::uint32_t AnswerSample::*index, const Group& overall, const VerdictOptions& options) {
  std::map<std::uint32_t, Members> parts;
  for (const auto* sample : members) parts[sample->*index].push_back(sample);
  std::vector<Group> groups;
  for (const auto& [which, part] : parts) {
    const std::string name = which < names.size() ? names[which] : std::to_string(which);
    groups.push_back(parts.size() == 1 ? overall : judge_group(name, part, options, true));
    groups.back().name = name;
  }
  return groups;
}

// Equal lengths may part at a border: then the requests' order decides.
std::vector<Group> by_quartile(const Members& members, const std::function<double(const AnswerSample&)>& length,
                               const VerdictOptions& options) {
  std::vector<Group> groups;
  if (members.size() < 2 * kQuartiles) return groups;
  Members sorted = members;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const auto* a, const auto* b) { return length(*a) < length(*b); });
  if (length(*sorted.front()) == length(*sorted.back())) return groups;
  for (std::size_t q = 0; q < kQuartiles; ++q) {
    const auto from = static_cast<std::ptrdiff_t>(sorted.size() * q / kQuartiles);
    const auto to = static_cast<std::ptrdiff_t>(sorted.size() * (q + 1) / kQuartiles);
    const Members part(sorted.begin() + from, sorted.begin() + to);
    const auto least = static_cast<std::uint64_t>(length(*part.front()));
    const auto most = static_cast<std::uint64_t>(length(*part.back()));
    groups.push_back(judge_group(std::to_string(least) + " to " + std::to_string(most), part, options, false));
  }
  return groups;
}

// Tokens by when they arrived. Where the server counts tokens of its own, arrivals share them evenly.
double tokens_inside(const AnswerSample& sample, TimePoint begin, TimePoint end) {
  const auto& times = sample.record.times;
  if (!times.first_token) return 0.0;
  TimePoint at = *times.first_token;
  std::size_t inside = at >= begin && at < end;
  for (const auto gap : sample.gaps) {
    at += gap;
    inside += at >= begin && at < end;
  }
  return static_cast<double>(inside) * times.tokens / static_cast<double>(sample.gaps.size() + 1);
}

SendLag judge_lag(const Members& members) {
  SendLag lag;
  lag.limit = kLeastLagLimit;
  std::vector<double> lags;
  std::optional<double> tightest;
  for (const auto* sample : members) {
    lags.push_back(to_seconds(sample->lag));
    if (const auto& ttft = sample->record.targets.ttft)
      tightest = std::min(tightest.value_or(to_seconds(*ttft)), to_seconds(*ttft));
  }
  if (tightest) lag.limit = std::max(lag.limit, kLagShareOfTarget * *tightest);
  std::sort(lags.begin(), lags.end());
  lag.p50 = percentile(lags, 0.5).value_or(0.0);
  lag.p99 = percentile(lags, 0.99).value_or(0.0);
  lag.most = lags.empty() ? 0.0 : lags.back();
  return lag;
}

// Nobody heard a single request: then nothing was measured, and misses would be blamed on a server that is not there.
bool nobody_was_reached(const Members& members) {
  return !members.empty() && std::all_of(members.begin(), members.end(), [](const auto* sample) {
    return sample->failure == Failure::kUnresolved || sample->failure == Failure::kNoConnection ||
           sample->failure == Failure::kTls;
  });
}

}  // namespace

std::optional<double> Group::prefix_hit_rate() const {
  if (prompt_total_with_cache == 0) return std::nullopt;
  return static_cast<double>(cached_total) / static_cast<double>(prompt_total_with_cache);
}

Verdict judge(const MeasuredRun& run, const VerdictOptions& options) {
  Verdict verdict;
  Members members;
  for (const auto& sample : run.samples) {
    if (sample.measured) members.push_back(&sample);
  }
  verdict.window_seconds = to_seconds(run.end - run.begin);
  verdict.overall = judge_group("all", members, options, true);
  verdict.classes = by_name(members, run.classes, &AnswerSample::class_index, verdict.overall, options);
  if (run.applications.size() > 1)
    verdict.applications =
        by_name(members, run.applications, &AnswerSample::application_index, verdict.overall, options);
  verdict.prompt_quartiles = by_quartile(
      members, [](const auto& s) { return static_cast<double>(s.prompt_tokens.value_or(s.prompt_asked)); }, options);
  Members complete;
  std::copy_if(members.begin(), members.end(), std::back_inserter(complete),
               [](const auto* s) { return s->record.outcome == Outcome::kComplete; });
  verdict.output_quartiles = by_quartile(
      complete, [](const auto& s) { return static_cast<double>(s.record.times.tokens); }, options);
  if (verdict.window_seconds > 0.0) {
    double inside = 0.0;
    for (const auto& sample : run.samples) inside += tokens_inside(sample, run.begin, run.end);
    verdict.output_tokens_per_second = inside / verdict.window_seconds;
    verdict.prompt_tokens_per_second = static_cast<double>(verdict.overall.prompt_total) / verdict.window_seconds;
    verdict.offered_rate = static_cast<double>(members.size()) / verdict.window_seconds;
  }
  if (options.open_load) verdict.saturation = judge_saturation(run.samples, run.begin, run.end);
  verdict.lag = judge_lag(members);
  if (verdict.lag.p99 > verdict.lag.limit)
    verdict.faults.push_back(
        "requests were sent late: the load generator did not keep up, so latencies are not the server's alone");
  if (members.empty()) verdict.faults.emplace_back("no request was measured");
  if (nobody_was_reached(members)) verdict.faults.emplace_back("no request reached the server");
  return verdict;
}

}  // namespace takt::measure
