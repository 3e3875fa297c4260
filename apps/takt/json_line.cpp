#include "json_line.h"

#include <boost/json.hpp>
#include <istream>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace takt {
namespace {

namespace json = boost::json;

// The next line, or its beginning when it is longer than the limit: then the rest is passed over.
bool read_line(std::istream& in, std::string& line) {
  line.clear();
  std::streambuf& bytes = *in.rdbuf();
  using Traits = std::istream::traits_type;
  for (auto c = bytes.sbumpc(); !Traits::eq_int_type(c, Traits::eof()); c = bytes.sbumpc()) {
    if (Traits::to_char_type(c) == '\n') return true;
    if (line.size() <= kMaxJsonLineBytes) line += Traits::to_char_type(c);
  }
  return !line.empty();
}

Result<json::object> parse_line(std::string_view line, std::size_t max_depth) {
  if (line.size() > kMaxJsonLineBytes)
    return Error::invalid("", "a line has at most " + std::to_string(kMaxJsonLineBytes) + " bytes");
  json::parse_options limits;
  limits.max_depth = max_depth;
  json::error_code failure;
  json::value parsed = json::parse(line, failure, {}, limits);
  if (failure) return Error::invalid("", "not valid JSON: " + failure.message());
  if (!parsed.is_object()) return Error::invalid("", "a line must be a JSON object");
  return std::move(parsed.get_object());
}

}  // namespace

bool filter_json_lines(std::istream& in, std::ostream& out, std::size_t max_depth,
                       const std::function<Result<json::object>(json::object)>& answer) {
  std::string line;
  while (out && read_line(in, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto given = parse_line(line, max_depth);
    const auto answered = given ? answer(std::move(*given)) : Result<json::object>(given.error());
    if (answered) {
      out << json::serialize(*answered) << '\n' << std::flush;
    } else {
      put_error_line(out, answered.error());
    }
  }
  return static_cast<bool>(out);
}

void put_error_line(std::ostream& out, const Error& error) {
  out << json::serialize(json::object{{"error", error.message}}) << '\n' << std::flush;
}

}  // namespace takt
