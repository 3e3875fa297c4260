#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <sstream>

#include "measured_runs.h"
#include "report/figures.h"
#include "report/report_html.h"
#include "report/report_json.h"
#include "report/sections.h"
#include "report/svg_plot.h"

namespace takt::report {
namespace {

using measure::test::random_run;

RunReport a_report(std::size_t requests) {
  RunReport report;
  report.title = "takt bench <server> & more";
  report.build = "takt 0.0";
  report.server = {{"maximum sequences", "64"}, {"preemption", "recompute"}};
  report.load = {{"arrivals", "open: poisson, 1 requests/s"}};
  report.run = random_run(requests, 0.2, 3);
  report.verdict = measure::judge(report.run);
  return report;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

TEST(Report, OpensWithWhatAComparisonMustRecord) {
  const auto sections = sections_of(a_report(50));
  EXPECT_EQ(sections.front().heading, "What a comparison must record");
  const std::string markdown = to_markdown("t", sections);
  for (const char* what :
       {"arrivals", "prompt lengths", "answer lengths", "maximum sequences", "preemption", "measured window"})
    EXPECT_NE(markdown.find(what), std::string::npos) << what;
}

TEST(Report, TotalSpeedNeverStandsWithoutTheSpeedOfASingleAnswer) {
  for (const auto requests : {1U, 50U}) {
    const std::string markdown = to_markdown("t", sections_of(a_report(requests)));
    for (std::size_t at = 0; (at = markdown.find("tokens/s in total", at)) != std::string::npos; ++at) {
      const auto line = markdown.substr(at, markdown.find('\n', at) - at);
      EXPECT_NE(line.find("a single answer"), std::string::npos) << line;
    }
    EXPECT_EQ(count_of(markdown, "tokens/s in total"), 1U);
  }
}

TEST(Report, SaysWhenARunIsPartialInvalidOrSaturated) {
  auto report = a_report(50);
  report.partial = true;
  report.verdict.faults = {"requests were sent late"};
  report.verdict.saturation.saturated = true;
  const std::string markdown = to_markdown("t", sections_of(report));
  for (const char* what : {"PARTIAL", "NOT VALID", "SATURATED"})
    EXPECT_NE(markdown.find(what), std::string::npos) << what;
}

TEST(Report, JsonComesBackAsTheSameRun) {
  auto before = a_report(200);
  before.run.samples[3].record.outcome = measure::Outcome::kFailed;
  before.run.samples[3].failure = measure::Failure::kHalfAnswer;
  before.run.samples[3].record.times.end.reset();
  before.run.samples[4].cached_tokens = 17;
  before.run.samples[5].measured = false;
  before.verdict = measure::judge(before.run);
  const auto after = read_report(to_json(before));
  ASSERT_TRUE(after) << after.error().message;
  EXPECT_EQ(after->title, before.title);
  EXPECT_EQ(after->server.size(), 2U);
  ASSERT_EQ(after->run.samples.size(), 200U);
  const auto& a = before.verdict;
  const auto& b = after->verdict;
  EXPECT_EQ(a.overall.goodput.met, b.overall.goodput.met);
  EXPECT_EQ(a.overall.failures, b.overall.failures);
  EXPECT_EQ(a.overall.ttft.quantiles, b.overall.ttft.quantiles);
  EXPECT_EQ(a.overall.worst_gap.quantiles, b.overall.worst_gap.quantiles);
  EXPECT_EQ(a.overall.tpot.quantiles, b.overall.tpot.quantiles);
  EXPECT_EQ(a.overall.cached_total, b.overall.cached_total);
  EXPECT_DOUBLE_EQ(a.window_seconds, b.window_seconds);
}

TEST(Report, JsonThatIsNoReportIsRefusedByName) {
  const std::string good = to_json(a_report(5));
  const auto field_of = [](const std::string& text) {
    const auto read = read_report(text);
    return read ? std::string("accepted") : read.error().field;
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_EQ(field_of("[]"), "schema");
  EXPECT_EQ(field_of("{"), "schema");
  EXPECT_EQ(field_of(with("takt-bench/1", "takt-bench/9")), "schema");
  EXPECT_EQ(field_of(with("\"sent_ns\"", "\"posted_ns\"")), "requests.sent_ns");
  EXPECT_EQ(field_of(with("\"count\":5", "\"count\":6")), "requests.scheduled_ns");
  EXPECT_EQ(field_of(with("\"outcome\":[0", "\"outcome\":[77")), "requests.outcome");
  EXPECT_EQ(field_of(with("\"requests\"", "\"asks\"")), "requests");
}

// Every field beside the requests, with every kind of value that it is not.
TEST(Report, EveryFieldOfAReportHasItsType) {
  auto made = a_report(3);
  made.warnings = {"prompt lengths are estimated"};
  made.generator = {{"send lag", "p50 0 s"}};
  made.started = "2026-11-30T16:00:00Z";
  const std::string good = to_json(made);
  ASSERT_TRUE(read_report(good));
  const auto root = boost::json::parse(good).as_object();
  const boost::json::array values{nullptr, true, "yes", 7, boost::json::array{3}, boost::json::object{{"name", 1}}};
  for (const char* name : {"schema", "title", "started", "build", "partial", "valid", "faults", "warnings", "load",
                           "server", "generator", "requests"}) {
    const auto& right = root.at(name);
    std::size_t refused = 0;
    for (const auto& value : values) {
      // An empty list has no entry of the wrong kind; a value of the right kind is none of the wrong one.
      if (value.kind() == right.kind() && !value.is_array() && !value.is_object()) continue;
      auto changed = root;
      changed[name] = value;
      const auto read = read_report(boost::json::serialize(changed));
      ASSERT_FALSE(read) << name << " " << value;
      EXPECT_EQ(read.error().field.substr(0, std::string(name).size()), name);
      EXPECT_NE(read.error().message.find(name), std::string::npos) << read.error().message;
      ++refused;
    }
    EXPECT_GE(refused, values.size() - 1) << name;
    auto without = root;
    without.erase(name);
    const auto read = read_report(boost::json::serialize(without));
    ASSERT_FALSE(read) << name;
    EXPECT_EQ(read.error().field, name);
  }
  for (const char* name : {"classes", "applications"}) {
    auto changed = root;
    changed["requests"].as_object()[name] = boost::json::array{7};
    EXPECT_EQ(read_report(boost::json::serialize(changed)).error().field, std::string("requests.") + name);
  }
}

TEST(Report, ARunThatItsOwnReportCallsNotValidStaysSo) {
  auto made = a_report(50);
  made.verdict.faults = {"a fault that its requests do not show"};
  auto text = to_json(made);
  const auto read = read_report(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->verdict.faults, made.verdict.faults);
  text.replace(text.find("\"valid\":false"), 13, "\"valid\":true");
  EXPECT_EQ(read_report(text).error().field, "valid");
}

// What a file says of its requests is held against itself before anything is calculated from it.
TEST(Report, AHostileReportIsRefusedWithWhatIsWrong) {
  auto one = a_report(3);
  one.run.samples[0].record.times.scheduled = one.run.begin;
  one.run.samples[0].record.times.sent = one.run.begin;
  const std::string good = to_json(one);
  ASSERT_TRUE(read_report(good));
  // Replaces the first value of a column.
  const auto with = [&](const std::string& column, const std::string& value) {
    std::string text = good;
    const auto begin = text.find("\"" + column + "\":[", text.find("\"requests\":")) + column.size() + 4;
    text.replace(begin, text.find_first_of(",]", begin) - begin, value);
    const auto read = read_report(text);
    return read ? std::string("accepted") : read.error().message;
  };
  EXPECT_NE(with("class", "4294967295").find("request 0: class names none"), std::string::npos);
  EXPECT_NE(with("class", "-1").find("requests.class[0]"), std::string::npos);
  EXPECT_NE(with("application", "1").find("request 0: application names none"), std::string::npos);
  EXPECT_NE(with("scheduled_ns", "-9223372036854775808").find("requests.scheduled_ns[0]"), std::string::npos);
  EXPECT_NE(with("end_ns", "9223372036854775807").find("requests.end_ns[0]"), std::string::npos);
  EXPECT_NE(with("first_token_ns", "-5").find("request 0: first_token_ns is before sent_ns"), std::string::npos);
  EXPECT_NE(with("first_token_ns", "null").find("request 0:"), std::string::npos);
  EXPECT_NE(with("last_token_ns", "null").find("request 0: last_token_ns is before"), std::string::npos);
  EXPECT_NE(with("end_ns", "1").find("request 0: end_ns is before"), std::string::npos);
  EXPECT_NE(with("worst_gap_ns", "-1").find("requests.worst_gap_ns[0]"), std::string::npos);
  EXPECT_NE(with("worst_gap_ns", "900000000000").find("request 0: worst_gap_ns is longer"), std::string::npos);
  EXPECT_NE(with("ttft_target_ns", "-1").find("requests.ttft_target_ns[0]"), std::string::npos);
  EXPECT_NE(with("status", "70000").find("requests.status[0]"), std::string::npos);
  std::string many = good;
  many.replace(many.find("\"count\":3"), 9, "\"count\":19999999");
  EXPECT_EQ(read_report(many).error().field, "requests.scheduled_ns") << "before memory is taken for them";
  EXPECT_EQ(read_report(std::string(100'000, '[')).error().field, "schema");
}

TEST(Report, NothingInANameCommandsATerminal) {
  const std::string text = to_markdown(
      "a\x1B[2J\x7F\xC2\x9B"
      "1m\xC3\x9B",
      {Section{"b\rc", {"d\x07"}, {}}});
  EXPECT_EQ(text, "# a?[2J??1m\xC3\x9B\n\n## b?c\n\nd?\n\n");
}

// G3: raw times of every request and token, with what was measured.
TEST(Report, RecordsHoldTheInstantOfEveryToken) {
  std::ostringstream out;
  write_records(out, a_report(5));
  const std::string text = out.str();
  EXPECT_EQ(count_of(text, "\n"), 6U);
  EXPECT_NE(text.find("maximum sequences"), std::string::npos);
  const auto at = text.find("\"token_arrivals_ns\":[");
  const auto list = text.substr(at, text.find(']', at) - at);
  EXPECT_EQ(count_of(list, ","), 9U);  // ten tokens
}

TEST(Report, HtmlLoadsNothingAndEscapesWhatIsGiven) {
  auto report = a_report(300);
  report.trials = {{1.0, 0.99, {0.97, 1.0}, 1.0, false, true}, {2.0, 0.7, {0.6, 0.8}, 1.4, false, true}};
  report.capacity = 1.0;
  report.capacity_is_bounded = true;
  const std::string html = to_html(report);
  EXPECT_NE(html.find("&lt;server&gt; &amp; more"), std::string::npos);
  EXPECT_EQ(html.find("<server>"), std::string::npos);
  for (const char* what : {"http:", "https:", "<script", "@import", "url("})
    EXPECT_EQ(html.find(what), std::string::npos) << what;
  EXPECT_GE(count_of(html, "<svg"), 7U);
  EXPECT_NE(html.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_NE(html.find("Goodput against offered rate"), std::string::npos);
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

TEST(Report, ACapacityThatNoRateBoundedIsCalledALowerBound) {
  auto report = a_report(300);
  report.trials = {{1.0, 0.99, {0.97, 1.0}, 1.0, false, true}};
  report.capacity = 1.0;
  EXPECT_NE(to_markdown("t", sections_of(report)).find("Capacity: more than 1.00 requests/s"), std::string::npos);
  report.capacity_is_bounded = true;
  EXPECT_EQ(to_markdown("t", sections_of(report)).find("more than"), std::string::npos);
}

TEST(Report, ASearchThatHadToStopSaysWhereAndBlamesNoServer) {
  auto report = a_report(300);
  const auto words = [&] { return to_markdown("t", sections_of(report)); };
  report.trials = {{1.0, 0.99, {0.97, 1.0}, 1.0, false, true},
                   {2.0, 0.0, {0.0, 0.0}, 0.0, false, false},
                   {2.0, 0.0, {0.0, 0.0}, 0.0, false, false}};
  report.capacity = 1.0;
  report.capacity_stopped_at = 2.0;
  EXPECT_NE(words().find("STOPPED: no run at 2.00 requests/s was valid"), std::string::npos);
  EXPECT_NE(words().find("Capacity: more than 1.00 requests/s"), std::string::npos);
  EXPECT_NE(to_json(report).find("\"stopped_at\":2E0"), std::string::npos);
  report.capacity.reset();
  EXPECT_NE(words().find("No rate that was tried had 90.0 % attainment"), std::string::npos);
  report.trials.erase(report.trials.begin());
  EXPECT_NE(words().find("Capacity: not known, since no run of the search was valid"), std::string::npos);
  EXPECT_EQ(words().find("No rate that was tried"), std::string::npos);
}

// Each place where `before` stands, with the number behind it.
std::vector<double> numbers_behind(const std::string& text, const std::string& before) {
  std::vector<double> numbers;
  for (std::size_t at = 0; (at = text.find(before, at)) != std::string::npos;)
    numbers.push_back(std::stod(text.substr(at += before.size(), 12)));
  return numbers;
}

TEST(Report, TheKeyOfAPlotStandsAboveItsDrawingWhateverTheNames) {
  const Axis axis{"x", false, false, 0.0, 1.0};
  for (const std::size_t count : {2U, 6U}) {
    for (const std::string& name :
         {std::string("chat"), std::string(128, 'w'), std::string("\xC3\xA4\xC3\xB6") + std::string(60, 'i')}) {
      const std::vector<Series> series(count, {name, {{0.0, 1.0}, {1.0, 1.0}}});
      const std::string svg = plot_lines("title", axis, axis, series);
      double key_ends = 0.0;
      std::size_t names = 0;
      for (std::size_t at = 0; (at = svg.find("<text class=\"k\" x=\"", at)) != std::string::npos; ++at, ++names) {
        const std::string mark = svg.substr(at, svg.find("</text>", at) - at);
        key_ends = std::max(key_ends, numbers_behind(mark, "\" y=\"").at(0));
        EXPECT_LT(numbers_behind(mark, " x=\"").at(0) + 6.0 * static_cast<double>(mark.size() - mark.find('>')), 480.0);
      }
      EXPECT_EQ(names, count);
      const auto curve = svg.find("<path class=\"l c0\" d=\"M62.0 ", svg.find("<text class=\"a"));
      ASSERT_NE(curve, std::string::npos);
      EXPECT_GT(std::stod(svg.substr(curve + 28, 8)), key_ends) << "the highest point of a curve";
      EXPECT_GT(numbers_behind(svg, "viewBox=\"0 0 460.0 ").at(0), 280.0);
    }
  }
  EXPECT_EQ(plot_lines("title", axis, axis, {{"only", {}}}).find("class=\"k\""), std::string::npos);
}

TEST(Report, AHundredThousandRequestsAreALittlePage) {
  const auto html = to_html(a_report(100'000));
  EXPECT_LT(html.size(), std::size_t{10} << 20);
}

TEST(Report, FiguresAreReadable) {
  EXPECT_EQ(seconds_text(0.000123), "123 us");
  EXPECT_EQ(seconds_text(0.0123), "12.3 ms");
  EXPECT_EQ(seconds_text(1.5), "1.50 s");
  EXPECT_EQ(seconds_text(600.0), "10.0 min");
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(share_text(0.934), "93.4 %");
  EXPECT_EQ(seconds_text(std::optional<double>()), "n/a");
}

}  // namespace
}  // namespace takt::report
