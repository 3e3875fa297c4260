// Files with a JSON object in each line; and filters that answer such lines by others (`takt debug`).
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include "base/result.h"

namespace takt {

inline constexpr std::size_t kMaxJsonLineBytes = std::size_t{64} << 20;

enum class JsonLine {
  kWhole,
  kCutOff,   // the last one, without its end
  kTooLong,  // for kMaxJsonLineBytes; the rest of it is passed over
  kNone,     // there are no more
};
// The next line, without its end.
JsonLine read_json_line(std::istream& in, std::string& line);

// The object that a line is. Errors: kInvalidArgument, with words that go on behind the line's name: "is not valid JSON
// ...", "must be a JSON object".
Result<boost::json::object> parse_json_line(std::string_view line, std::size_t max_depth);

// Answers each line of `in` by a line of `out`: what `answer` makes of its object, or {"error": text} when it fails or
// the line is no object of JSON, is longer than kMaxJsonLineBytes or nests deeper than `max_depth`. Blank lines are
// passed over. False when the output cannot be written.
bool filter_json_lines(std::istream& in, std::ostream& out, std::size_t max_depth,
                       const std::function<Result<boost::json::object>(boost::json::object)>& answer);

// Writes {"error": text} as a line, for a filter that cannot begin.
void put_error_line(std::ostream& out, const Error& error);

}  // namespace takt
