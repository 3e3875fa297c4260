#include "explain_story.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <utility>
#include <vector>

#include "admin_answer.h"
#include "table_text.h"
#include "terminal_text.h"

namespace takt::app {
namespace {

namespace json = boost::json;

std::string tokens(double count) {
  return format("%.0f token%s", count, count == 1.0 ? "" : "s");
}

struct Words {
  const char* name;
  const char* words;
};

constexpr Words kReasons[] = {
    {"seat", "for a seat"},
    {"step_time", "for time in a step"},
    {"blocks", "for KV blocks"},
    {"tier_ceiling", "for its tier's ceiling"},
    {"fair_turn", "for its fair turn"},
    {"window", "for a batch window"},
    {"model", "for its model"},
    {"swapped_out", "to be copied back"},
    {"sibling", "for another choice to compute the prompt"},
    {"preemption", "since a step that preempts admits nobody"},
    {"batch_end", "for the running batch to end"},
    {"breaker", "while admission is shrunk after too many preemptions"},
};

std::string reason_words(std::string_view name) {
  for (const Words& reason : kReasons) {
    if (name == reason.name) return reason.words;
  }
  return "(" + terminal_line(name) + ")";
}

struct Cause {
  std::string name;
  double seconds = 0.0;
};

void add_cause(std::vector<Cause>& causes, const std::string& name, double seconds) {
  const auto found = std::find_if(causes.begin(), causes.end(), [&](const Cause& c) { return c.name == name; });
  if (found == causes.end()) {
    causes.push_back({name, seconds});
  } else {
    found->seconds += seconds;
  }
}

double length_of(const json::object& span) {
  return number(span, "to_seconds") - number(span, "from_seconds");
}

void sort_causes(std::vector<Cause>& causes) {
  std::stable_sort(causes.begin(), causes.end(), [](const Cause& a, const Cause& b) { return a.seconds > b.seconds; });
}

// Where the time of one choice went, the largest share first: choices run side by side, so their times do not add up.
std::vector<Cause> causes_of(const json::object& request, double choice) {
  std::vector<Cause> causes;
  for (const json::object* span : objects(request, "spans")) {
    if (number(*span, "choice") != choice) continue;
    const std::string state = text(*span, "state");
    const json::object& waited = object(*span, "waited_seconds");
    if (waited.empty()) add_cause(causes, state, length_of(*span));
    for (const auto& [reason, seconds] : waited) {
      add_cause(causes, state + " " + reason_words(reason), number(waited, reason));
    }
  }
  sort_causes(causes);
  return causes;
}

// Time by state in spans that were not kept one by one; of all choices.
std::vector<Cause> causes_of_the_rest(const json::object& request) {
  json::object left = object(request, "seconds_by_state");
  for (const json::object* span : objects(request, "spans")) {
    const std::string state = text(*span, "state");
    if (has(left, state)) left[state] = number(left, state) - length_of(*span);
  }
  constexpr double kRounding = 1e-4;
  std::vector<Cause> causes;
  for (const auto& [state, seconds] : left) {
    if (number(left, state) > kRounding) add_cause(causes, terminal_line(std::string_view(state)), number(left, state));
  }
  sort_causes(causes);
  return causes;
}

// What a line has room for: the first choice's causes stand for all.
std::vector<Cause> mostly(const json::object& request) {
  std::vector<Cause> causes = causes_of(request, 0.0);
  return causes.empty() ? causes_of_the_rest(request) : causes;
}

std::string share_lines(const std::vector<Cause>& causes) {
  constexpr double kBarWidth = 30.0;
  double all = 0.0;
  for (const Cause& cause : causes) all += cause.seconds;
  std::string lines;
  for (const Cause& cause : causes) {
    const double share = all > 0.0 ? cause.seconds / all : 0.0;
    if (share < 0.001) continue;
    lines += format("  %10s  %3.0f %%  ", duration(cause.seconds).c_str(), share * 100.0);
    lines += std::string(static_cast<std::size_t>(std::max(1.0, share * kBarWidth)), '#');
    lines += "  " + cause.name + "\n";
  }
  return lines;
}

std::string shares(const json::object& request) {
  std::vector<double> choices;
  for (const json::object* span : objects(request, "spans")) {
    const double choice = number(*span, "choice");
    if (std::find(choices.begin(), choices.end(), choice) == choices.end()) choices.push_back(choice);
  }
  std::sort(choices.begin(), choices.end());
  const bool several = number(request, "choices") > 1 || choices.size() > 1;
  const std::vector<Cause> rest = causes_of_the_rest(request);
  if (!several) {
    std::vector<Cause> causes = causes_of(request, choices.empty() ? 0.0 : choices.front());
    for (const Cause& cause : rest) add_cause(causes, cause.name, cause.seconds);
    sort_causes(causes);
    return share_lines(causes);
  }
  std::string lines;
  for (const double choice : choices)
    lines += format("choice %.0f\n", choice) + share_lines(causes_of(request, choice));
  if (!rest.empty()) lines += "changes that were not kept, of all choices together\n" + share_lines(rest);
  return lines;
}

std::string reasons_text(const json::object& span) {
  std::string list;
  const json::object& waited = object(span, "waited_seconds");
  for (const auto& [reason, seconds] : waited) {
    list += list.empty() ? ": " : ", ";
    list += duration(number(waited, reason)) + " " + reason_words(reason);
  }
  return list;
}

std::string span_text(const json::object& span) {
  const std::string state = text(span, "state");
  std::string line = state + " for " + duration(length_of(span));
  if (state == "preparing") return line + ": reading, template, tokens, hand-over to the engine";
  if (state == "queued") return line + reasons_text(span);
  if (state == "prefill" || state == "decode") return line + ": " + tokens(number(span, "tokens"));
  if (state != "preempted" && state != "swapped") return line;
  line += " by " + text(span, "in_favour_of") + " work";
  if (state == "swapped") {
    line += ", " + tokens(number(span, "swapped_tokens")) + " kept in the swap arena";
  } else if (text(span, "kind") == "seat") {
    line += ", which took its seat";
  } else {
    line += ", " + tokens(number(span, "dropped_tokens")) + " to compute again";
  }
  return line + reasons_text(span);
}

std::string spans_text(const json::object& request) {
  const bool several = number(request, "choices") > 1;
  std::string lines;
  for (const json::object* span : objects(request, "spans")) {
    lines += format("  %10s  ", duration(number(*span, "from_seconds")).c_str());
    if (several) lines += format("choice %.0f ", number(*span, "choice"));
    lines += span_text(*span) + "\n";
  }
  const double left_out = number(request, "spans_left_out");
  if (left_out > 0) lines += format("  (%.0f more changes are in the shares only)\n", left_out);
  return lines;
}

std::string end_text(const json::object& request) {
  const std::string state = text(request, "state");
  if (state != "ended") return "now: " + state;
  const json::object& error = object(request, "error");
  std::string line = "ended: " + text(request, "finish_reason");
  if (const std::string outcome = text(request, "outcome"); outcome != "answered") line += ", answer " + outcome;
  if (!error.empty()) line += " (" + text(error, "message") + ")";
  return line;
}

std::string head_text(const json::object& request) {
  std::string head = "Request " + text(request, "id") + ": class " + text(request, "service_class") + ", tier " +
                     text(request, "tier");
  if (const std::string tenant = text(request, "tenant"); !tenant.empty()) head += ", tenant " + tenant;
  if (const std::string application = text(request, "application"); !application.empty())
    head += ", application " + application;
  if (const std::string model = text(request, "model"); !model.empty()) head += ", model " + model;
  head += "\n  " + duration(number(request, "total_seconds")) + " in all, prompt of " +
          tokens(number(request, "prompt_tokens"));
  if (number(request, "cached_tokens") > 0) head += format(" (%.0f from the cache)", number(request, "cached_tokens"));
  head += ", answer of " + tokens(number(request, "output_tokens"));
  if (has(request, "ttft_seconds")) head += ", first after " + duration(number(request, "ttft_seconds"));
  return head + "\n  " + end_text(request) + "\n";
}

std::string queue_text(const json::object& request) {
  const json::object& queue = object(request, "queue");
  if (queue.empty()) return {};
  std::string line = format("  place in the queue: %.0f", number(queue, "position"));
  if (has(queue, "starts_in_seconds")) line += ", starts in about " + duration(number(queue, "starts_in_seconds"));
  if (has(queue, "reason")) line += ", waits " + reason_words(text(queue, "reason"));
  return line + "\n";
}

}  // namespace

Result<std::string> request_story(std::string_view body) {
  const auto request = parse_admin_answer(body);
  if (!request) return request.error();
  std::string story = head_text(*request) + queue_text(*request);
  story += "\nWhere the time went:\n" + shares(*request);
  story += "\nWhat happened, from its arrival on:\n" + spans_text(*request);
  if (const json::object& gap = object(*request, "worst_gap"); !gap.empty()) {
    story += "\nLongest pause between two tokens: " + duration(number(gap, "seconds")) + ", up to " +
             duration(number(gap, "at_seconds")) + "\n";
  }
  return story;
}

Result<std::string> requests_table(std::string_view body) {
  const auto answer = parse_admin_answer(body);
  if (!answer) return answer.error();
  std::string table = format("%-16s %-10s %-9s %10s %10s %7s %7s  %s\n", "id", "class", "state", "total", "first", "in",
                             "out", "mostly");
  for (const json::object* request : objects(*answer, "requests")) {
    const std::string first = has(*request, "ttft_seconds") ? duration(number(*request, "ttft_seconds")) : "-";
    table += format("%-16s %-10s %-9s %10s %10s %7.0f %7.0f  ", text(*request, "id").c_str(),
                    text(*request, "service_class").c_str(), text(*request, "state").c_str(),
                    duration(number(*request, "total_seconds")).c_str(), first.c_str(),
                    number(*request, "prompt_tokens"), number(*request, "output_tokens"));
    const std::vector<Cause> causes = mostly(*request);
    double all = 0.0;
    for (const Cause& cause : causes) all += cause.seconds;
    if (!causes.empty() && all > 0.0)
      table += causes.front().name + format(" (%.0f %%)", causes.front().seconds / all * 100.0);
    table += "\n";
  }
  return table;
}

}  // namespace takt::app
