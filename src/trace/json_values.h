// Values of a line of JSON, with the name of the field in every error.
#pragma once

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace takt::trace {

// Parses line after line in the same memory.
class JsonMemory {
 public:
  // The object of a line, until the next call. Errors: kInvalidArgument.
  Result<const boost::json::object*> parse(std::string_view line);

 private:
  std::vector<unsigned char> buffer_ = std::vector<unsigned char>(std::size_t{64} << 10);
  std::optional<boost::json::monotonic_resource> memory_;  // begins in the buffer
  std::optional<boost::json::value> value_;
};

// Errors: kInvalidArgument, field = name.
Result<std::uint32_t> required_count(const boost::json::object& fields, const char* name);

}  // namespace takt::trace
