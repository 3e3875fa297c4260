// Reads the fields of a JSON object with their types and ranges. Internal to this folder.
#pragma once

#include <boost/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"

namespace takt::api {

// "string", "number", ...: for messages.
std::string_view kind_name(const boost::json::value& value);

// The integer that a number of a document (json_document.h) is; empty when it is none or has more than 63 bits.
std::optional<std::int64_t> integral(const boost::json::value& value);

// What is wrong with a number that must lie in a range and be stored as a float; empty: nothing.
std::string number_fault(const boost::json::value& value, double lowest, double highest);

// Getters return nothing for a field that is absent, null or wrong; the first fault is kept and later ones are ignored,
// so a caller reads all its fields and then asks once.
class FieldReader {
 public:
  // `path`: where the object stands in the document, e.g. "messages[3]"; empty for the root.
  FieldReader(const boost::json::object& object, std::string path) : object_(object), path_(std::move(path)) {}

  const boost::json::value* any(std::string_view name);
  std::optional<bool> boolean(std::string_view name);
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t lowest, std::int64_t highest);
  std::optional<double> number(std::string_view name, double lowest, double highest);
  std::optional<std::string> string(std::string_view name, std::size_t max_bytes);
  const boost::json::array* array(std::string_view name, std::size_t max_items);
  const boost::json::object* object(std::string_view name);
  // An array of token ids >= 0.
  std::optional<std::vector<std::int32_t>> token_ids(std::string_view name, std::size_t max_items);

  // The JSON path of a field of this object.
  std::string path_of(std::string_view name) const;
  void fail(std::string_view name, std::string message, ErrorCode code = ErrorCode::kInvalidArgument);
  void fail_with(Error error);
  bool failed() const { return error_.has_value(); }

  // Strict mode: a field that nobody asked for is a fault.
  void refuse_unread();
  Status status() const { return error_ ? Status(*error_) : Status(); }

 private:
  const boost::json::object& object_;
  std::string path_;
  std::unordered_set<std::string_view> read_;
  std::optional<Error> error_;
};

// Checked token ids of `array`; `path` names it in faults.
Result<std::vector<std::int32_t>> read_token_ids(const boost::json::array& array, const std::string& path,
                                                 std::size_t max_items);

}  // namespace takt::api
