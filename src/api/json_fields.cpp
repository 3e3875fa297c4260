#include "api/json_fields.h"

#include <cmath>
#include <limits>

#include "base/message_number.h"

namespace takt::api {

namespace json = boost::json;

namespace {

std::string range_text(std::int64_t lowest, std::int64_t highest) {
  if (highest == std::numeric_limits<std::int64_t>::max()) return "of at least " + std::to_string(lowest);
  return "from " + std::to_string(lowest) + " to " + std::to_string(highest);
}

}  // namespace

std::string_view kind_name(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return "a boolean";
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_:
      return "a number";
    case json::kind::string:
      return "a string";
    case json::kind::array:
      return "a list";
    case json::kind::object:
      return "an object";
  }
  return "null";
}

std::optional<std::int64_t> integral(const json::value& value) {
  if (const auto* whole = value.if_int64()) return *whole;
  return std::nullopt;
}

std::string number_fault(const json::value& value, double lowest, double highest) {
  if (value.is_number()) {
    const auto real = value.to_number<double>();
    const bool lost = real != 0.0 && std::fabs(real) < static_cast<double>(std::numeric_limits<float>::min());
    if (lost) return "is too close to 0: the smallest size other than 0 is 1.2e-38";
    if (real >= lowest && real <= highest) return {};
  }
  return "must be a number from " + message_number(lowest) + " to " + message_number(highest) +
         (value.is_number() ? "" : ", not " + std::string(kind_name(value)));
}

const json::value* FieldReader::any(std::string_view name) {
  const auto member = object_.find(name);
  if (member == object_.end()) return nullptr;
  read_.insert(member->key());
  return member->value().is_null() ? nullptr : &member->value();
}

std::optional<bool> FieldReader::boolean(std::string_view name) {
  const json::value* value = any(name);
  if (value == nullptr) return std::nullopt;
  if (const bool* flag = value->if_bool()) return *flag;
  fail(name, "must be true or false, not " + std::string(kind_name(*value)));
  return std::nullopt;
}

std::optional<std::int64_t> FieldReader::integer(std::string_view name, std::int64_t lowest, std::int64_t highest) {
  const json::value* value = any(name);
  if (value == nullptr) return std::nullopt;
  const auto whole = integral(*value);
  if (whole && *whole >= lowest && *whole <= highest) return whole;
  fail(name, "must be a whole number " + range_text(lowest, highest) +
                 (value->is_number() ? "" : ", not " + std::string(kind_name(*value))));
  return std::nullopt;
}

std::optional<double> FieldReader::number(std::string_view name, double lowest, double highest) {
  const json::value* value = any(name);
  if (value == nullptr) return std::nullopt;
  std::string fault = number_fault(*value, lowest, highest);
  if (fault.empty()) return value->to_number<double>();
  fail(name, std::move(fault));
  return std::nullopt;
}

std::optional<std::string> FieldReader::string(std::string_view name, std::size_t max_bytes) {
  const json::value* value = any(name);
  if (value == nullptr) return std::nullopt;
  const json::string* text = value->if_string();
  if (text == nullptr) {
    fail(name, "must be a string, not " + std::string(kind_name(*value)));
    return std::nullopt;
  }
  if (text->size() > max_bytes) {
    fail(name, "has " + std::to_string(text->size()) + " bytes; the limit is " + std::to_string(max_bytes));
    return std::nullopt;
  }
  return std::string(text->data(), text->size());
}

const json::array* FieldReader::array(std::string_view name, std::size_t max_items) {
  const json::value* value = any(name);
  if (value == nullptr) return nullptr;
  const json::array* items = value->if_array();
  if (items == nullptr) {
    fail(name, "must be a list, not " + std::string(kind_name(*value)));
    return nullptr;
  }
  if (items->size() > max_items) {
    fail(name, "has " + std::to_string(items->size()) + " items; the limit is " + std::to_string(max_items));
    return nullptr;
  }
  return items;
}

const json::object* FieldReader::object(std::string_view name) {
  const json::value* value = any(name);
  if (value == nullptr) return nullptr;
  const json::object* fields = value->if_object();
  if (fields == nullptr) fail(name, "must be an object, not " + std::string(kind_name(*value)));
  return fields;
}

std::optional<std::vector<std::int32_t>> FieldReader::token_ids(std::string_view name, std::size_t max_items) {
  const json::array* items = array(name, max_items);
  if (items == nullptr) return std::nullopt;
  auto ids = read_token_ids(*items, path_of(name), max_items);
  if (!ids) {
    fail_with(ids.error());
    return std::nullopt;
  }
  return std::move(ids).value();
}

std::string FieldReader::path_of(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

void FieldReader::fail(std::string_view name, std::string message, ErrorCode code) {
  std::string path = path_of(name);
  std::string sentence = "'" + path + "' " + std::move(message);
  fail_with({code, std::move(sentence), std::move(path)});
}

void FieldReader::fail_with(Error error) {
  if (!error_) error_ = std::move(error);
}

void FieldReader::refuse_unread() {
  for (const auto& member : object_) {
    if (read_.count(member.key()) == 0) {
      // The name is the caller's text: only a piece of it goes into the message.
      fail(std::string_view(member.key()).substr(0, 64),
           "is not a known field, and this server refuses unknown ones (strict mode)");
      return;
    }
  }
}

Result<std::vector<std::int32_t>> read_token_ids(const json::array& array, const std::string& path,
                                                 std::size_t max_items) {
  if (array.size() > max_items) {
    return Error::invalid(path, "'" + path + "' has " + std::to_string(array.size()) + " items; the limit is " +
                                    std::to_string(max_items));
  }
  std::vector<std::int32_t> ids;
  ids.reserve(array.size());
  for (std::size_t i = 0; i < array.size(); ++i) {
    const auto id = integral(array[i]);
    if (!id || *id < 0 || *id > std::numeric_limits<std::int32_t>::max()) {
      const std::string item = path + "[" + std::to_string(i) + "]";
      return Error::invalid(item, "'" + item + "' must be a token id: a whole number from 0 to 2147483647");
    }
    ids.push_back(static_cast<std::int32_t>(*id));
  }
  return ids;
}

}  // namespace takt::api
