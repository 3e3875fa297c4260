#include "trace/json_values.h"

#include <boost/json.hpp>
#include <limits>

namespace takt::trace {

namespace json = boost::json;

Result<const json::object*> JsonMemory::parse(std::string_view line) {
  constexpr std::size_t kMostDepth = 8;
  value_.reset();
  memory_.emplace(buffer_.data(), buffer_.size());
  json::parse_options limits;
  limits.max_depth = kMostDepth;
  json::error_code failure;
  value_.emplace(json::parse(line, failure, &*memory_, limits));
  if (failure) return Error::invalid("", "not valid JSON: " + failure.message());
  const json::object* object = value_->if_object();
  if (object == nullptr) return Error::invalid("", "must be a JSON object");
  return object;
}

Result<std::uint32_t> required_count(const json::object& fields, const char* name) {
  const json::value* value = fields.if_contains(name);
  if (value == nullptr) return Error::invalid(name, std::string(name) + " is missing");
  const auto* number = value->if_int64();
  if (number == nullptr || *number < 0 || *number > std::numeric_limits<std::uint32_t>::max())
    return Error::invalid(name, std::string(name) + " must be a whole number from 0 to 4294967295");
  return static_cast<std::uint32_t>(*number);
}

}  // namespace takt::trace
