#include "admin_answer.h"

#include <boost/json.hpp>
#include <utility>

#include "terminal_text.h"

namespace takt::app {

namespace json = boost::json;

Result<json::object> parse_admin_answer(std::string_view body) {
  boost::system::error_code error;
  json::value parsed = json::parse(body, error);
  if (error || !parsed.is_object()) return Error{ErrorCode::kIo, "the server's answer is not understood", {}};
  return std::move(parsed.get_object());
}

double number(const json::object& from, std::string_view key) {
  const auto* value = from.if_contains(key);
  boost::system::error_code error;
  return value != nullptr && value->is_number() ? value->to_number<double>(error) : 0.0;
}

bool has(const json::object& from, std::string_view key) {
  const auto* value = from.if_contains(key);
  return value != nullptr && !value->is_null();
}

std::string text(const json::object& from, std::string_view key) {
  const auto* value = from.if_contains(key);
  return value != nullptr && value->is_string() ? terminal_line(std::string_view(value->as_string())) : "";
}

const json::object& object(const json::object& from, std::string_view key) {
  static const json::object kNothing;
  const auto* value = from.if_contains(key);
  return value != nullptr && value->is_object() ? value->get_object() : kNothing;
}

std::vector<const json::object*> objects(const json::object& from, std::string_view key) {
  std::vector<const json::object*> found;
  const auto* value = from.if_contains(key);
  if (value == nullptr || !value->is_array()) return found;
  for (const auto& item : value->get_array()) {
    if (item.is_object()) found.push_back(&item.get_object());
  }
  return found;
}

}  // namespace takt::app
