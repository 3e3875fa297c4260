#include "report/report_html.h"

#include <algorithm>
#include <functional>

#include "measure/percentile.h"
#include "report/svg_plot.h"

namespace takt::report {
namespace {

using measure::AnswerSample;

constexpr std::size_t kCurvePoints = 200;
constexpr std::size_t kMostDots = 4000;
constexpr std::size_t kMostHeatPoints = 50'000;
constexpr std::size_t kMostClasses = 6;  // of one plot
constexpr std::size_t kTimeParts = 120;

constexpr const char* kHead = R"(<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1"><title>)";
constexpr const char* kStyle = R"(</title><style>
:root{--bg:#fff;--fg:#1b1f24;--soft:#5b6470;--line:#dfe3e8;--c0:#1f6feb;--c1:#d1570f;--c2:#1a7f4b;--c3:#a1328e;--c4:#8a6d00;--c5:#555}
@media (prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e6e9ed;--soft:#9aa4b0;--line:#2c333b;--c0:#6cb0ff;--c1:#ff9d5c;--c2:#5fd097;--c3:#f08ee0;--c4:#e3c14a;--c5:#bbb}}
@media print{:root{--bg:#fff;--fg:#000;--soft:#444;--line:#ccc;--c0:#1f6feb;--c1:#d1570f;--c2:#1a7f4b;--c3:#a1328e;--c4:#8a6d00;--c5:#555}svg,tr{break-inside:avoid}.w.w{overflow:visible}.w th,.w td{white-space:normal}}
body{background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif;max-width:1000px;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem;border-bottom:1px solid var(--line)}
.w{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.86rem}
th,td{padding:.2rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th:first-child,td:first-child{text-align:left}.f th,.f td{text-align:left;white-space:normal}
.p{display:flex;flex-wrap:wrap;gap:12px;align-items:flex-start}.p svg{width:min(100%,480px);height:auto}
svg text{font:11px system-ui,sans-serif;fill:var(--soft)}svg .t{font-size:13px;fill:var(--fg);font-weight:600}
.m{text-anchor:middle}.e{text-anchor:end}.g{stroke:var(--line);fill:none}.l{fill:none;stroke-width:1.6}
.d{fill:none;stroke-width:2.6;stroke-linecap:round;opacity:.8}.h{fill:var(--c0)}
.l.c0,.d.c0{stroke:var(--c0)}.l.c1,.d.c1{stroke:var(--c1)}.l.c2,.d.c2{stroke:var(--c2)}.l.c3,.d.c3{stroke:var(--c3)}.l.c4,.d.c4{stroke:var(--c4)}.l.c5,.d.c5{stroke:var(--c5)}
.l.c1{stroke-dasharray:7 3}.l.c2{stroke-dasharray:2 2.5}.l.c3{stroke-dasharray:9 3 2 3}.l.c4{stroke-dasharray:5 2 2 2 2 2}.l.c5{stroke-dasharray:12 4}
svg .k{fill:var(--fg)}
</style></head><body>)";

using Value = std::function<void(const AnswerSample&, std::vector<double>&)>;

Series distribution_curve(std::string name, std::vector<double> values) {
  Series series{std::move(name), {}};
  std::sort(values.begin(), values.end());
  for (std::size_t i = 0; i <= kCurvePoints && !values.empty(); ++i) {
    const double p = static_cast<double>(i) / kCurvePoints;
    series.points.emplace_back(*measure::percentile(values, p), p);
  }
  return series;
}

std::string distribution_plot(const RunReport& report, const std::string& title, const Value& value) {
  std::vector<std::vector<double>> by_class(std::max<std::size_t>(report.run.classes.size(), 1));
  for (const auto& sample : report.run.samples) {
    if (sample.measured && sample.class_index < by_class.size()) value(sample, by_class[sample.class_index]);
  }
  std::vector<Series> series;
  for (std::size_t i = 0; i < by_class.size() && series.size() < kMostClasses; ++i) {
    if (by_class[i].empty()) continue;
    series.push_back(
        distribution_curve(i < report.run.classes.size() ? report.run.classes[i] : "all", std::move(by_class[i])));
  }
  if (series.empty()) return {};
  return plot_lines(title, {title, true, true}, {"share of samples", false, false, 0.0, 1.0}, series);
}

// Every n-th, so that at most `most` are left.
std::vector<const AnswerSample*> evenly(const RunReport& report, std::size_t most) {
  std::vector<const AnswerSample*> all;
  for (const auto& sample : report.run.samples) {
    if (sample.measured && sample.record.times.first_token) all.push_back(&sample);
  }
  const std::size_t step = std::max<std::size_t>(1, (all.size() + most - 1) / most);
  std::vector<const AnswerSample*> some;
  for (std::size_t i = 0; i < all.size(); i += step) some.push_back(all[i]);
  return some;
}

std::string ttft_over_time(const RunReport& report) {
  std::vector<Series> series;
  for (std::size_t i = 0; i < std::min(report.run.classes.size(), kMostClasses); ++i)
    series.push_back({report.run.classes[i], {}});
  for (const auto* sample : evenly(report, kMostDots)) {
    const auto& times = sample->record.times;
    if (sample->class_index >= series.size()) continue;
    series[sample->class_index].points.emplace_back(to_seconds(times.scheduled - report.run.begin),
                                                    to_seconds(*measure::time_to_first_token(times)));
  }
  std::erase_if(series, [](const auto& one) { return one.points.empty(); });
  if (series.empty()) return {};
  return plot_points("TTFT over the run", {"scheduled, after the window's begin", false, true}, {"TTFT", true, true},
                     series);
}

std::string load_over_time(const RunReport& report) {
  const double window = report.verdict.window_seconds;
  if (window <= 0.0) return {};
  std::vector<double> busy(kTimeParts + 1, 0.0);
  const double part = window / kTimeParts;
  for (const auto& sample : report.run.samples) {
    const auto& times = sample.record.times;
    if (!times.end) continue;
    const double from = std::max(to_seconds(times.scheduled - report.run.begin) / part, 0.0);
    const double to = std::min(to_seconds(*times.end - report.run.begin) / part, static_cast<double>(kTimeParts));
    for (auto i = static_cast<std::size_t>(from); static_cast<double>(i) < to; ++i)
      busy[i] += std::min(to, static_cast<double>(i + 1)) - std::max(from, static_cast<double>(i));
  }
  Series series{"in flight", {}};
  for (std::size_t i = 0; i < kTimeParts; ++i)
    series.points.emplace_back((static_cast<double>(i) + 0.5) * part, busy[i]);
  const double most = *std::max_element(busy.begin(), busy.end());
  return plot_lines("Requests in flight", {"after the window's begin", false, true},
                    {"requests", false, false, 0.0, most}, {series});
}

std::string length_heat(const RunReport& report) {
  std::vector<std::pair<double, double>> points;
  for (const auto* sample : evenly(report, kMostHeatPoints)) {
    points.emplace_back(std::max(1U, sample->prompt_tokens.value_or(sample->prompt_asked)),
                        to_seconds(*measure::time_to_first_token(sample->record.times)));
  }
  if (points.empty()) return {};
  return plot_heat("Prompt length against TTFT", {"prompt tokens", true, false}, {"TTFT", true, true}, points);
}

std::string goodput_curve(const RunReport& report) {
  if (report.trials.size() < 2) return {};
  auto trials = report.trials;
  std::sort(trials.begin(), trials.end(), [](const auto& a, const auto& b) { return a.rate < b.rate; });
  Series good{"goodput", {}};
  Series offered{"offered", {}};
  for (const auto& trial : trials) {
    if (!trial.valid) continue;
    good.points.emplace_back(trial.rate, trial.goodput);
    offered.points.emplace_back(trial.rate, trial.rate);
  }
  const double most = trials.back().rate;
  return plot_lines("Goodput against offered rate", {"offered requests/s", false, false, 0.0, most},
                    {"requests/s", false, false, 0.0, most}, {good, offered});
}

void add(std::vector<double>& values, const std::optional<Duration>& duration) {
  if (duration && *duration > Duration(0)) values.push_back(to_seconds(*duration));
}

std::string plots(const RunReport& report) {
  std::string html = "<h2>Plots</h2><div class=\"p\">";
  html += goodput_curve(report);
  html += distribution_plot(
      report, "TTFT", [](const AnswerSample& s, auto& v) { add(v, measure::time_to_first_token(s.record.times)); });
  html += distribution_plot(report, "Worst gap of an answer", [](const AnswerSample& s, auto& v) {
    if (!s.gaps.empty()) add(v, s.record.times.worst_gap);
  });
  html += distribution_plot(
      report, "TPOT", [](const AnswerSample& s, auto& v) { add(v, measure::time_per_output_token(s.record.times)); });
  html += distribution_plot(report, "E2E",
                            [](const AnswerSample& s, auto& v) { add(v, measure::end_to_end(s.record.times)); });
  html += ttft_over_time(report);
  html += load_over_time(report);
  html += length_heat(report);
  return html + "</div>";
}

std::string sections_html(const std::vector<Section>& sections) {
  std::string html;
  for (const auto& section : sections) {
    html += "<h2>" + escaped(section.heading) + "</h2>";
    for (const auto& sentence : section.sentences) html += "<p>" + escaped(sentence) + "</p>";
    if (section.table.rows.empty()) continue;
    html +=
        section.table.columns.size() == 2 ? "<div class=\"w\"><table class=\"f\"><tr>" : "<div class=\"w\"><table><tr>";
    for (const auto& column : section.table.columns) html += "<th>" + escaped(column) + "</th>";
    html += "</tr>";
    for (const auto& row : section.table.rows) {
      html += "<tr>";
      for (const auto& value : row) html += "<td>" + escaped(value) + "</td>";
      html += "</tr>";
    }
    html += "</table></div>";
  }
  return html;
}

}  // namespace

std::string to_html(const RunReport& report) {
  return kHead + escaped(report.title) + kStyle + "<h1>" + escaped(report.title) + "</h1>" +
         sections_html(sections_of(report)) + plots(report) + "</body></html>\n";
}

std::string to_html(const std::string& title, const std::vector<Section>& sections) {
  return kHead + escaped(title) + kStyle + "<h1>" + escaped(title) + "</h1>" + sections_html(sections) +
         "</body></html>\n";
}

}  // namespace takt::report
