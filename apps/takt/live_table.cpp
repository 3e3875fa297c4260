#include "live_table.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <utility>
#include <vector>

#include "admin_answer.h"
#include "table_text.h"

namespace takt::app {
namespace {

namespace json = boost::json;

// What matters most stands in the first 80 columns.
constexpr std::size_t kIdWidth = 16;
constexpr std::size_t kWordWidth = 10;
constexpr std::size_t kNameWidth = 12;

std::string or_none(std::string value) {
  return value.empty() ? "-" : std::move(value);
}

// Tokens a second in the request's spans of this state. A prompt's tokens are known to be computed once all are.
std::string rate_in(const json::object& request, std::string_view state) {
  if (state == "prefill" && text(request, "state") == state) return "-";
  double tokens = 0.0;
  double seconds = 0.0;
  for (const json::object* span : objects(request, "spans")) {
    if (text(*span, "state") != state) continue;
    tokens += number(*span, "tokens");
    seconds += number(*span, "to_seconds") - number(*span, "from_seconds");
  }
  return tokens > 0.0 && seconds > 0.0 ? format("%.1f", tokens / seconds) : "-";
}

std::string state_of(const json::object& request) {
  const json::object& queue = object(request, "queue");
  return text(request, "state") + (queue.empty() ? "" : format(" #%.0f", number(queue, "position")));
}

std::string counts(const std::vector<const json::object*>& requests) {
  std::vector<std::pair<std::string, int>> states;
  for (const json::object* request : requests) {
    const std::string state = text(*request, "state");
    const auto found = std::find_if(states.begin(), states.end(), [&](const auto& s) { return s.first == state; });
    if (found == states.end()) {
      states.emplace_back(state, 1);
    } else {
      ++found->second;
    }
  }
  std::string list;
  for (const auto& [state, count] : states) list += (list.empty() ? ": " : ", ") + std::to_string(count) + " " + state;
  return list;
}

std::string line_of(const json::object& request) {
  const json::object& gap = object(request, "worst_gap");
  const std::string first = has(request, "ttft_seconds") ? duration(number(request, "ttft_seconds")) : "-";
  return cell(text(request, "id"), kIdWidth) + ' ' + cell(text(request, "service_class"), kWordWidth) + ' ' +
         cell(state_of(request), kWordWidth) +
         format(" %8s %8s %6.0f %6.0f %6s %7s %9s %6.0f  ", duration(number(request, "total_seconds")).c_str(),
                first.c_str(), number(request, "prompt_tokens"), number(request, "output_tokens"),
                rate_in(request, "decode").c_str(), rate_in(request, "prefill").c_str(),
                gap.empty() ? "-" : duration(number(gap, "seconds")).c_str(), number(request, "cached_tokens")) +
         cell(or_none(text(request, "tenant")), kNameWidth) + ' ' +
         first_characters(or_none(text(request, "application")), kNameWidth) + '\n';
}

}  // namespace

Result<std::string> live_table(std::string_view body) {
  const auto answer = parse_admin_answer(body);
  if (!answer) return answer.error();
  const std::vector<const json::object*> requests = objects(*answer, "requests");
  const double alive = std::max(number(*answer, "alive"), static_cast<double>(requests.size()));
  const bool all = alive <= static_cast<double>(requests.size());
  std::string table = format("%.0f alive%s", alive, all ? "" : format(", the oldest %zu", requests.size()).c_str());
  table += counts(requests) + "\n";
  table += cell("id", kIdWidth) + ' ' + cell("class", kWordWidth) + ' ' + cell("state", kWordWidth) +
           format(" %8s %8s %6s %6s %6s %7s %9s %6s  ", "age", "first", "in", "out", "decode", "prefill", "worst gap",
                  "cached") +
           cell("tenant", kNameWidth) + " application\n";
  for (const json::object* request : requests) table += line_of(*request);
  return table;
}

}  // namespace takt::app
