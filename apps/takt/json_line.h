// JSON lines: one object in, one object out. For the filters of `takt debug`.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <functional>
#include <iosfwd>

#include "base/result.h"

namespace takt {

inline constexpr std::size_t kMaxJsonLineBytes = std::size_t{64} << 20;

// Answers each line of `in` by a line of `out`: what `answer` makes of its object, or {"error": text} when it fails or
// the line is no object of JSON, is longer than kMaxJsonLineBytes or nests deeper than `max_depth`. Blank lines are
// passed over. False when the output cannot be written.
bool filter_json_lines(std::istream& in, std::ostream& out, std::size_t max_depth,
                       const std::function<Result<boost::json::object>(boost::json::object)>& answer);

// Writes {"error": text} as a line, for a filter that cannot begin.
void put_error_line(std::ostream& out, const Error& error);

}  // namespace takt
