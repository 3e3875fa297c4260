#include "debug_logprobs.h"

#include <boost/json.hpp>
#include <cstdint>
#include <istream>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json_line.h"

namespace takt {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxQueryDepth = 8;

std::optional<std::int64_t> whole_number(const json::value& value, std::int64_t min, std::int64_t max) {
  json::error_code error;
  const auto number = value.to_number<std::int64_t>(error);
  if (error || value.is_double() || number < min || number > max) return std::nullopt;
  return number;
}

Result<std::uint32_t> count(const json::object& given, const char* name, std::uint32_t otherwise) {
  const json::value* value = given.if_contains(name);
  if (value == nullptr) return otherwise;
  const auto number = whole_number(*value, 0, std::numeric_limits<std::uint32_t>::max());
  if (!number) return Error::invalid(name, std::string(name) + " must be a whole number from 0 to 4294967295");
  return static_cast<std::uint32_t>(*number);
}

Result<std::vector<TokenId>> ids(const json::object& given, const char* name) {
  const json::value* value = given.if_contains(name);
  const json::array* array = value == nullptr ? nullptr : value->if_array();
  const auto wrong = [&] { return Error::invalid(name, std::string(name) + " must be a list of token ids"); };
  if (array == nullptr) return wrong();
  std::vector<TokenId> result;
  result.reserve(array->size());
  for (const json::value& item : *array) {
    const auto id = whole_number(item, 0, std::numeric_limits<TokenId>::max());
    if (!id) return wrong();
    result.push_back(static_cast<TokenId>(*id));
  }
  return result;
}

Result<std::vector<IdsAtPosition>> ids_at(const json::object& given) {
  std::vector<IdsAtPosition> result;
  const json::value* value = given.if_contains("ids_at");
  if (value == nullptr) return result;
  const json::array* array = value->if_array();
  if (array == nullptr) return Error::invalid("ids_at", "ids_at must be a list of objects with pos and ids");
  for (const json::value& item : *array) {
    const json::object* object = item.if_object();
    if (object == nullptr || !object->contains("pos"))
      return Error::invalid("ids_at", "ids_at must be a list of objects with pos and ids");
    auto position = count(*object, "pos", 0);
    if (!position) return position.error();
    auto wanted = ids(*object, "ids");
    if (!wanted) return wanted.error();
    result.push_back({*position, std::move(*wanted)});
  }
  return result;
}

Result<LogprobQuery> query_of(const json::object& given) {
  LogprobQuery query;
  auto prompt = ids(given, "prompt_ids");
  if (!prompt) return prompt.error();
  auto generate = count(given, "generate", query.generate);
  if (!generate) return generate.error();
  auto top = count(given, "top", query.top);
  if (!top) return top.error();
  auto wanted = ids_at(given);
  if (!wanted) return wanted.error();
  query.prompt_ids = std::move(*prompt);
  query.generate = *generate;
  query.top = *top;
  query.ids_at = std::move(*wanted);
  return query;
}

template <typename Number>
json::array list(const std::vector<Number>& numbers) {
  return json::array(numbers.begin(), numbers.end());
}

Result<json::object> answer_query(LogprobProbe& probe, const json::object& given) {
  const auto query = query_of(given);
  if (!query) return query.error();
  const auto answer = probe.answer(*query);
  if (!answer) return answer.error();
  json::array positions;
  for (const PositionLogprobs& position : answer->positions) {
    positions.push_back({{"pos", position.position},
                         {"argmax", position.argmax},
                         {"top_ids", list(position.top_ids)},
                         {"top_logprobs", list(position.top_logprobs)},
                         {"ids", list(position.ids)},
                         {"logprobs", list(position.logprobs)}});
  }
  return json::object{{"greedy_ids", list(answer->greedy_ids)}, {"positions", std::move(positions)}};
}

}  // namespace

int run_debug_logprobs(LogprobProbe& probe, std::istream& in, std::ostream& out) {
  const auto look_up = [&](const json::object& given) { return answer_query(probe, given); };
  return filter_json_lines(in, out, kMaxQueryDepth, look_up) ? 0 : 1;
}

}  // namespace takt
