#include "report/request_columns.h"

#include <array>
#include <boost/json.hpp>
#include <functional>

namespace takt::report {
namespace {

namespace json = boost::json;
using measure::AnswerSample;
using measure::MeasuredRun;

constexpr std::size_t kMostRequests = 20'000'000;
// Ten years: instants that far apart still have a difference.
constexpr std::int64_t kMostNanoseconds = 10LL * 366 * 86'400 * 1'000'000'000;

// One fact of a request: to JSON, and from it. `set` says whether the value was one.
struct Column {
  const char* name;
  std::function<json::value(const AnswerSample&, TimePoint begin)> get;
  std::function<bool(AnswerSample&, const json::value&, TimePoint begin)> set;
};

json::value instant(TimePoint at, TimePoint begin) {
  return (at - begin).count();
}

template <typename Number>
json::value optional_number(const std::optional<Number>& number) {
  return number ? json::value(*number) : json::value(nullptr);
}

bool read_instant(const json::value& value, TimePoint begin, TimePoint& at) {
  if (!value.is_int64()) return false;
  const std::int64_t nanoseconds = value.get_int64();
  if (nanoseconds < -kMostNanoseconds || nanoseconds > kMostNanoseconds) return false;
  at = begin + Duration(nanoseconds);
  return true;
}

bool read_duration(const json::value& value, Duration& duration) {
  if (!value.is_int64() || value.get_int64() < 0 || value.get_int64() > kMostNanoseconds) return false;
  duration = Duration(value.get_int64());
  return true;
}

bool read_optional_duration(const json::value& value, std::optional<Duration>& duration) {
  return value.is_null() || read_duration(value, duration.emplace());
}

template <typename Number>
bool read_number(const json::value& value, Number& number) {
  if (!value.is_int64() && !value.is_uint64()) return false;
  boost::system::error_code error;
  number = value.to_number<Number>(error);
  return !error;
}

template <typename Number>
bool read_optional(const json::value& value, std::optional<Number>& number) {
  if (value.is_null()) return true;
  return read_number(value, number.emplace());
}

json::value optional_duration(const std::optional<Duration>& duration) {
  return duration ? json::value(duration->count()) : json::value(nullptr);
}

template <typename Number>
Column number_column(const char* name, Number AnswerSample::*member) {
  return {name, [member](const AnswerSample& s, TimePoint) { return json::value(s.*member); },
          [member](AnswerSample& s, const json::value& v, TimePoint) { return read_number(v, s.*member); }};
}

template <typename Number>
Column optional_column(const char* name, std::optional<Number> AnswerSample::*member) {
  return {name, [member](const AnswerSample& s, TimePoint) { return optional_number(s.*member); },
          [member](AnswerSample& s, const json::value& v, TimePoint) { return read_optional(v, s.*member); }};
}

Column target_column(const char* name, std::optional<Duration> measure::Targets::*member) {
  return {name, [member](const AnswerSample& s, TimePoint) { return optional_duration(s.record.targets.*member); },
          [member](AnswerSample& s, const json::value& v, TimePoint) {
            return read_optional_duration(v, s.record.targets.*member);
          }};
}

std::vector<Column> time_columns() {
  return {
      {"scheduled_ns", [](const AnswerSample& s, TimePoint begin) { return instant(s.record.times.scheduled, begin); },
       [](AnswerSample& s, const json::value& v, TimePoint begin) {
         return read_instant(v, begin, s.record.times.scheduled);
       }},
      {"sent_ns", [](const AnswerSample& s, TimePoint begin) { return instant(s.record.times.sent, begin); },
       [](AnswerSample& s, const json::value& v, TimePoint begin) {
         return read_instant(v, begin, s.record.times.sent);
       }},
      {"first_token_ns",
       [](const AnswerSample& s, TimePoint begin) {
         return s.record.times.first_token ? instant(*s.record.times.first_token, begin) : json::value(nullptr);
       },
       [](AnswerSample& s, const json::value& v, TimePoint begin) {
         return v.is_null() || read_instant(v, begin, s.record.times.first_token.emplace());
       }},
      {"last_token_ns",
       [](const AnswerSample& s, TimePoint begin) {
         return s.record.times.first_token ? instant(s.record.times.last_token, begin) : json::value(nullptr);
       },
       [](AnswerSample& s, const json::value& v, TimePoint begin) {
         return v.is_null() || read_instant(v, begin, s.record.times.last_token);
       }},
      {"end_ns",
       [](const AnswerSample& s, TimePoint begin) {
         return s.record.times.end ? instant(*s.record.times.end, begin) : json::value(nullptr);
       },
       [](AnswerSample& s, const json::value& v, TimePoint begin) {
         return v.is_null() || read_instant(v, begin, s.record.times.end.emplace());
       }},
      {"worst_gap_ns", [](const AnswerSample& s, TimePoint) { return json::value(s.record.times.worst_gap.count()); },
       [](AnswerSample& s, const json::value& v, TimePoint) {
         if (!read_duration(v, s.record.times.worst_gap)) return false;
         if (s.record.times.worst_gap > Duration(0)) s.gaps = {s.record.times.worst_gap};
         return true;
       }},
      {"lag_ns", [](const AnswerSample& s, TimePoint) { return json::value(s.lag.count()); },
       [](AnswerSample& s, const json::value& v, TimePoint) { return read_duration(v, s.lag); }},
      {"queue_ns", [](const AnswerSample& s, TimePoint) { return optional_duration(s.queue); },
       [](AnswerSample& s, const json::value& v, TimePoint) { return read_optional_duration(v, s.queue); }},
  };
}

std::vector<Column> make_columns() {
  auto columns = time_columns();
  columns.push_back(
      {"tokens", [](const AnswerSample& s, TimePoint) { return json::value(s.record.times.tokens); },
       [](AnswerSample& s, const json::value& v, TimePoint) { return read_number(v, s.record.times.tokens); }});
  columns.push_back({"outcome",
                     [](const AnswerSample& s, TimePoint) { return json::value(static_cast<int>(s.record.outcome)); },
                     [](AnswerSample& s, const json::value& v, TimePoint) {
                       std::uint32_t which = 0;
                       if (!read_number(v, which) || which > static_cast<std::uint32_t>(measure::Outcome::kCancelled))
                         return false;
                       s.record.outcome = static_cast<measure::Outcome>(which);
                       return true;
                     }});
  columns.push_back({"failure",
                     [](const AnswerSample& s, TimePoint) { return json::value(static_cast<int>(s.failure)); },
                     [](AnswerSample& s, const json::value& v, TimePoint) {
                       std::uint32_t which = 0;
                       if (!read_number(v, which) || which >= measure::kFailureKinds) return false;
                       s.failure = static_cast<measure::Failure>(which);
                       return true;
                     }});
  columns.push_back({"measured", [](const AnswerSample& s, TimePoint) { return json::value(s.measured ? 1 : 0); },
                     [](AnswerSample& s, const json::value& v, TimePoint) {
                       std::uint32_t which = 0;
                       if (!read_number(v, which) || which > 1) return false;
                       s.measured = which != 0;
                       return true;
                     }});
  columns.push_back(number_column("status", &AnswerSample::status));
  columns.push_back(number_column("class", &AnswerSample::class_index));
  columns.push_back(number_column("application", &AnswerSample::application_index));
  columns.push_back(number_column("retries", &AnswerSample::retries));
  columns.push_back(number_column("prompt_tokens_asked", &AnswerSample::prompt_asked));
  columns.push_back(number_column("output_tokens_asked", &AnswerSample::output_asked));
  columns.push_back(optional_column("prompt_tokens", &AnswerSample::prompt_tokens));
  columns.push_back(optional_column("output_tokens", &AnswerSample::output_tokens));
  columns.push_back(optional_column("cached_tokens", &AnswerSample::cached_tokens));
  columns.push_back(optional_column("preemptions", &AnswerSample::preemptions));
  columns.push_back(target_column("ttft_target_ns", &measure::Targets::ttft));
  columns.push_back(target_column("itl_target_ns", &measure::Targets::itl));
  columns.push_back(target_column("tpot_target_ns", &measure::Targets::tpot));
  columns.push_back(target_column("end_to_end_target_ns", &measure::Targets::end_to_end));
  return columns;
}

Result<std::vector<std::string>> read_names(const json::object& object, const char* name) {
  const std::string path = std::string("requests.") + name;
  const auto* value = object.if_contains(name);
  const auto* list = value == nullptr ? nullptr : value->if_array();
  if (list == nullptr) return Error::invalid(path, path + " must be a list of texts");
  std::vector<std::string> names;
  for (const auto& entry : *list) {
    const auto* text = entry.if_string();
    if (text == nullptr) return Error::invalid(path, path + " must be a list of texts");
    names.emplace_back(text->data(), text->size());
  }
  return names;
}

json::array write_names(const std::vector<std::string>& names) {
  json::array list;
  for (const auto& name : names) list.emplace_back(name);
  return list;
}

// What columns say of each other. Empty: they may be believed.
std::optional<std::string> contradiction_of(const AnswerSample& sample, const MeasuredRun& run) {
  const auto& times = sample.record.times;
  if (sample.class_index >= run.classes.size()) return "class names none of requests.classes";
  if (sample.application_index >= run.applications.size()) return "application names none of requests.applications";
  if (times.sent < times.scheduled) return "sent_ns is before scheduled_ns";
  if (times.first_token && *times.first_token < times.sent) return "first_token_ns is before sent_ns";
  if (times.first_token && times.last_token < *times.first_token) return "last_token_ns is before first_token_ns";
  if (times.end && *times.end < (times.first_token ? times.last_token : times.sent))
    return "end_ns is before what came of the request";
  if (!times.first_token && (times.tokens > 0 || !sample.gaps.empty()))
    return "there are tokens without first_token_ns";
  if (times.first_token && times.worst_gap > times.last_token - *times.first_token)
    return "worst_gap_ns is longer than the answer";
  return std::nullopt;
}

Status check_sizes(const json::object& object, const std::vector<Column>& columns, std::size_t count) {
  if (object.size() != columns.size() + 4)
    return Error::invalid("requests", "requests has columns that are not known, or lacks some");
  for (const auto& column : columns) {
    const std::string path = std::string("requests.") + column.name;
    const auto* values = object.if_contains(column.name);
    if (values == nullptr || !values->is_array()) return Error::invalid(path, path + " is missing");
    if (values->get_array().size() != count)
      return Error::invalid(path, path + " has not as many values as there are requests");
  }
  return {};
}

}  // namespace

json::object to_columns(const MeasuredRun& run) {
  json::object object{{"count", run.samples.size()},
                      {"window_ns", (run.end - run.begin).count()},
                      {"classes", write_names(run.classes)},
                      {"applications", write_names(run.applications)}};
  for (const auto& column : make_columns()) {
    json::array values;
    values.reserve(run.samples.size());
    for (const auto& sample : run.samples) values.push_back(column.get(sample, run.begin));
    object[column.name] = std::move(values);
  }
  return object;
}

Result<MeasuredRun> from_columns(const json::object& object) {
  MeasuredRun run;
  std::size_t count = 0;
  std::int64_t window = 0;
  const auto* given_count = object.if_contains("count");
  const auto* given_window = object.if_contains("window_ns");
  if (given_count == nullptr || !read_number(*given_count, count) || count > kMostRequests)
    return Error::invalid("requests.count", "requests.count is no number of requests, at most 20 million");
  if (given_window == nullptr || !read_number(*given_window, window) || window < 0 || window > kMostNanoseconds)
    return Error::invalid("requests.window_ns", "requests.window_ns is no length of time");
  run.end = run.begin + Duration(window);
  auto classes = read_names(object, "classes");
  if (!classes) return classes.error();
  run.classes = std::move(*classes);
  auto applications = read_names(object, "applications");
  if (!applications) return applications.error();
  run.applications = std::move(*applications);
  const auto columns = make_columns();
  // Before memory is taken for as many as the file says.
  if (const Status sound = check_sizes(object, columns, count); !sound) return sound.error();
  run.samples.resize(count);
  for (const auto& column : columns) {
    const auto& values = object.at(column.name).get_array();
    for (std::size_t i = 0; i < count; ++i) {
      if (column.set(run.samples[i], values[i], run.begin)) continue;
      const std::string path = std::string("requests.") + column.name;
      return Error::invalid(path, path + "[" + std::to_string(i) + "] is no value of its kind");
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    run.samples[i].number = i;
    if (const auto fault = contradiction_of(run.samples[i], run))
      return Error::invalid("requests", "request " + std::to_string(i) + ": " + *fault);
  }
  return run;
}

}  // namespace takt::report
