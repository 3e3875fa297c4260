#include "report/report_json.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <ostream>

#include "report/request_columns.h"

namespace takt::report {
namespace {

namespace json = boost::json;
using measure::Distribution;
using measure::Group;

json::value interval_json(const std::optional<measure::Interval>& interval) {
  if (!interval) return nullptr;
  return json::array{interval->low, interval->high};
}

json::value distribution_json(const Distribution& values) {
  json::object object{{"samples", values.samples}};
  if (values.samples == 0) return object;
  object["mean"] = values.mean;
  object["least"] = values.least;
  object["most"] = values.most;
  static constexpr std::array<const char*, measure::kShownQuantiles.size()> kNames{"p50", "p90", "p95", "p99"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    object[kNames[i]] = values.quantiles[i] ? json::value(*values.quantiles[i]) : json::value(nullptr);
    if (values.intervals[i]) object[std::string(kNames[i]) + "_interval"] = interval_json(values.intervals[i]);
  }
  return object;
}

json::object group_json(const Group& group, double window_seconds) {
  const auto& goodput = group.goodput;
  const auto attainment = goodput.attainment();
  json::object object{{"name", group.name},
                      {"offered", goodput.offered},
                      {"met_all_targets", goodput.met},
                      {"cancelled", goodput.cancelled},
                      {"retried", group.retried},
                      {"attainment", attainment ? json::value(*attainment) : json::value(nullptr)}};
  object["attainment_interval"] = attainment ? interval_json(group.attainment) : json::value(nullptr);
  if (window_seconds > 0.0) {
    object["goodput_requests_per_second"] = goodput.requests_per_second(from_seconds(window_seconds));
    object["goodput_tokens_per_second"] = goodput.tokens_per_second(from_seconds(window_seconds));
  }
  json::object failures;
  for (std::size_t kind = 1; kind < group.failures.size(); ++kind) {
    if (group.failures[kind] > 0) failures[to_string(static_cast<measure::Failure>(kind))] = group.failures[kind];
  }
  object["failures"] = std::move(failures);
  object["ttft_seconds"] = distribution_json(group.ttft);
  object["ttft_from_send_seconds"] = distribution_json(group.ttft_from_send);
  object["itl_seconds"] = distribution_json(group.itl);
  object["worst_gap_seconds"] = distribution_json(group.worst_gap);
  object["tpot_seconds"] = distribution_json(group.tpot);
  object["ntpot_seconds"] = distribution_json(group.ntpot);
  object["end_to_end_seconds"] = distribution_json(group.end_to_end);
  object["queue_seconds"] = distribution_json(group.queue);
  object["answer_tokens_per_second"] = distribution_json(group.user_speed);
  object["prompt_tokens"] = distribution_json(group.prompt_tokens);
  object["output_tokens"] = distribution_json(group.output_tokens);
  const auto hits = group.prefix_hit_rate();
  object["prefix_hit_rate"] = hits ? json::value(*hits) : json::value(nullptr);
  object["preemptions"] = group.preemptions ? json::value(*group.preemptions) : json::value(nullptr);
  object["answers_with_counts"] = group.counted;
  object["prompts_of_asked_length"] = group.prompts_as_asked;
  object["outputs_of_asked_length"] = group.outputs_as_asked;
  return object;
}

json::array groups_json(const std::vector<Group>& groups, double window_seconds) {
  json::array list;
  for (const auto& group : groups) list.push_back(group_json(group, window_seconds));
  return list;
}

json::array facts_json(const std::vector<Fact>& facts) {
  json::array list;
  for (const auto& fact : facts) list.push_back({{"name", fact.name}, {"value", fact.value}});
  return list;
}

json::array strings_json(const std::vector<std::string>& strings) {
  json::array list;
  for (const auto& string : strings) list.emplace_back(string);
  return list;
}

json::object head_json(const RunReport& report) {
  return {{"schema", std::string(kReportSchema)},
          {"title", report.title},
          {"started", report.started},
          {"build", report.build},
          {"partial", report.partial},
          {"valid", report.verdict.valid()},
          {"faults", strings_json(report.verdict.faults)},
          {"warnings", strings_json(report.warnings)},
          {"load", facts_json(report.load)},
          {"server", facts_json(report.server)},
          {"generator", facts_json(report.generator)}};
}

json::object capacity_json(const RunReport& report) {
  json::array trials;
  for (const auto& trial : report.trials) {
    trials.push_back({{"requests_per_second", trial.rate},
                      {"attainment", trial.attainment},
                      {"attainment_interval", interval_json(trial.interval)},
                      {"goodput_requests_per_second", trial.goodput},
                      {"saturated", trial.saturated},
                      {"valid", trial.valid}});
  }
  json::object object{{"wanted_attainment", report.wanted_attainment}, {"trials", std::move(trials)}};
  object["requests_per_second"] = report.capacity ? json::value(*report.capacity) : json::value(nullptr);
  if (report.capacity) object["bounded"] = report.capacity_is_bounded;
  object["stopped_at"] = report.capacity_stopped_at ? json::value(*report.capacity_stopped_at) : json::value(nullptr);
  if (report.capacity && report.capacity_is_bounded) object["interval"] = interval_json(report.capacity_interval);
  return object;
}

json::object verdict_json(const measure::Verdict& verdict) {
  const double window = verdict.window_seconds;
  return {
      {"window_seconds", window},
      {"offered_requests_per_second", verdict.offered_rate},
      {"output_tokens_per_second", verdict.output_tokens_per_second},
      {"prompt_tokens_per_second", verdict.prompt_tokens_per_second},
      {"saturated", verdict.saturation.saturated},
      {"in_flight_growth", verdict.saturation.in_flight_growth},
      {"ttft_growth", verdict.saturation.ttft_growth},
      {"send_lag_seconds",
       {{"p50", verdict.lag.p50}, {"p99", verdict.lag.p99}, {"most", verdict.lag.most}, {"limit", verdict.lag.limit}}},
      {"all", group_json(verdict.overall, window)},
      {"classes", groups_json(verdict.classes, window)},
      {"applications", groups_json(verdict.applications, window)},
      {"prompt_length_quartiles", groups_json(verdict.prompt_quartiles, window)},
      {"output_length_quartiles", groups_json(verdict.output_quartiles, window)}};
}

std::string text_of(const json::string& text) {
  return {text.data(), text.size()};
}

Error not_of_its_kind(const char* name, const char* kind) {
  return Error::invalid(name, std::string(name) + " must be " + kind);
}

Result<std::vector<Fact>> read_facts(const json::object& root, const char* name) {
  std::vector<Fact> facts;
  const auto* list = root.if_contains(name);
  if (list == nullptr || !list->is_array()) return not_of_its_kind(name, "a list");
  for (const auto& entry : list->get_array()) {
    boost::system::error_code error;
    const auto* key = entry.find_pointer("/name", error);
    const auto* value = entry.find_pointer("/value", error);
    if (key == nullptr || value == nullptr || !key->is_string() || !value->is_string())
      return not_of_its_kind(name, "a list of names and values, which are texts");
    facts.push_back({text_of(key->get_string()), text_of(value->get_string())});
  }
  return facts;
}

Status read_text(const json::object& root, const char* name, std::string& text) {
  const auto* value = root.if_contains(name);
  if (value == nullptr || !value->is_string()) return not_of_its_kind(name, "a text");
  text = text_of(value->get_string());
  return {};
}

Status read_flag(const json::object& root, const char* name, bool& flag) {
  const auto* value = root.if_contains(name);
  if (value == nullptr || !value->is_bool()) return not_of_its_kind(name, "true or false");
  flag = value->get_bool();
  return {};
}

Status read_texts(const json::object& root, const char* name, std::vector<std::string>& texts) {
  const auto* value = root.if_contains(name);
  const auto* list = value == nullptr ? nullptr : value->if_array();
  if (list == nullptr) return not_of_its_kind(name, "a list of texts");
  for (const auto& entry : *list) {
    if (!entry.is_string()) return not_of_its_kind(name, "a list of texts");
    texts.push_back(text_of(entry.get_string()));
  }
  return {};
}

// What stands beside the requests. `faults`: why whoever measured called the run not valid.
Status read_head(const json::object& root, RunReport& report, std::vector<std::string>& faults) {
  const std::array<std::pair<const char*, std::string*>, 3> texts{
      {{"title", &report.title}, {"started", &report.started}, {"build", &report.build}}};
  for (const auto& [name, text] : texts) {
    if (const auto status = read_text(root, name, *text); !status) return status;
  }
  bool valid = true;
  if (const auto status = read_flag(root, "partial", report.partial); !status) return status;
  if (const auto status = read_flag(root, "valid", valid); !status) return status;
  if (const auto status = read_texts(root, "faults", faults); !status) return status;
  if (const auto status = read_texts(root, "warnings", report.warnings); !status) return status;
  if (valid != faults.empty()) return Error::invalid("valid", "valid is not what faults say");
  const std::array<std::pair<const char*, std::vector<Fact>*>, 3> kinds{
      {{"load", &report.load}, {"server", &report.server}, {"generator", &report.generator}}};
  for (const auto& [name, facts] : kinds) {
    auto read = read_facts(root, name);
    if (!read) return read.error();
    *facts = std::move(*read);
  }
  return {};
}

}  // namespace

std::string to_json(const RunReport& report) {
  json::object root = head_json(report);
  root["verdict"] = verdict_json(report.verdict);
  if (!report.trials.empty()) root["capacity"] = capacity_json(report);
  root["requests"] = to_columns(report.run);
  return json::serialize(root) + "\n";
}

std::string to_json(const std::vector<NamedComparison>& comparisons) {
  json::array list;
  for (const auto& one : comparisons) {
    json::array differences;
    for (const auto& difference : one.comparison.differences) {
      differences.push_back({{"figure", difference.figure},
                             {"unit", difference.unit},
                             {"before", difference.before},
                             {"after", difference.after},
                             {"difference_interval", interval_json(difference.interval)},
                             {"smaller_is_better", difference.smaller_is_better},
                             {"real", difference.real()}});
    }
    list.push_back({{"before", one.before},
                    {"after", one.after},
                    {"valid", one.valid},
                    {"warnings", strings_json(one.comparison.warnings)},
                    {"differences", std::move(differences)}});
  }
  return json::serialize(json::object{{"schema", "takt-compare/1"}, {"comparisons", std::move(list)}}) + "\n";
}

Result<RunReport> read_report(std::string_view text) {
  boost::system::error_code error;
  const auto root_value = json::parse(json::string_view(text.data(), text.size()), error);
  const auto* root = root_value.if_object();
  const auto* schema = error || root == nullptr ? nullptr : root->if_contains("schema");
  if (schema == nullptr || *schema != json::value(json::string_view(kReportSchema.data(), kReportSchema.size())))
    return Error::invalid("schema", "this is no report of schema " + std::string(kReportSchema));
  RunReport report;
  std::vector<std::string> faults;
  if (const auto status = read_head(*root, report, faults); !status) return status.error();
  const auto* requests = root->if_contains("requests");
  if (requests == nullptr || !requests->is_object()) return Error::invalid("requests", "requests is missing");
  auto run = from_columns(requests->get_object());
  if (!run) return run.error();
  report.run = std::move(*run);
  report.verdict = measure::judge(report.run);
  // Who measured knew more: a search, several runs.
  for (auto& fault : faults) {
    auto& own = report.verdict.faults;
    if (std::find(own.begin(), own.end(), fault) == own.end()) own.push_back(std::move(fault));
  }
  return report;
}

void write_records(std::ostream& out, const RunReport& report) {
  out << json::serialize(head_json(report)) << '\n';
  for (const auto& sample : report.run.samples) {
    const auto& times = sample.record.times;
    const auto after_begin = [&](TimePoint at) { return (at - report.run.begin).count(); };
    json::array arrivals;
    if (times.first_token) {
      TimePoint at = *times.first_token;
      arrivals.emplace_back(after_begin(at));
      for (const auto gap : sample.gaps) arrivals.emplace_back(after_begin(at += gap));
    }
    json::object line{{"number", sample.number},
                      {"class", report.run.classes.at(sample.class_index)},
                      {"application", report.run.applications.at(sample.application_index)},
                      {"measured", sample.measured},
                      {"outcome", static_cast<int>(sample.record.outcome)},
                      {"failure", to_string(sample.failure)},
                      {"status", sample.status},
                      {"detail", sample.detail},
                      {"scheduled_ns", after_begin(times.scheduled)},
                      {"sent_ns", after_begin(times.sent)},
                      {"prompt_tokens_asked", sample.prompt_asked},
                      {"output_tokens_asked", sample.output_asked},
                      {"tokens", times.tokens},
                      {"token_arrivals_ns", std::move(arrivals)}};
    line["end_ns"] = times.end ? json::value(after_begin(*times.end)) : json::value(nullptr);
    line["prompt_tokens"] = sample.prompt_tokens ? json::value(*sample.prompt_tokens) : json::value(nullptr);
    line["output_tokens"] = sample.output_tokens ? json::value(*sample.output_tokens) : json::value(nullptr);
    line["cached_tokens"] = sample.cached_tokens ? json::value(*sample.cached_tokens) : json::value(nullptr);
    out << json::serialize(line) << '\n';
  }
}

}  // namespace takt::report
