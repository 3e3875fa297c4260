#include "json_line.h"

#include <boost/json.hpp>
#include <istream>
#include <ostream>
#include <utility>

namespace takt {

namespace json = boost::json;

JsonLine read_json_line(std::istream& in, std::string& line) {
  line.clear();
  using Traits = std::istream::traits_type;
  std::streambuf& bytes = *in.rdbuf();
  bool too_long = false;
  for (auto c = bytes.sbumpc(); !Traits::eq_int_type(c, Traits::eof()); c = bytes.sbumpc()) {
    if (Traits::to_char_type(c) == '\n') return too_long ? JsonLine::kTooLong : JsonLine::kWhole;
    if (line.size() >= kMaxJsonLineBytes) {
      too_long = true;
    } else {
      line += Traits::to_char_type(c);
    }
  }
  if (too_long) return JsonLine::kTooLong;
  return line.empty() ? JsonLine::kNone : JsonLine::kCutOff;
}

Result<json::object> parse_json_line(std::string_view line, std::size_t max_depth) {
  json::parse_options limits;
  limits.max_depth = max_depth;
  json::error_code failure;
  json::value parsed = json::parse(line, failure, {}, limits);
  if (failure) return Error::invalid("", "is not valid JSON: " + failure.message());
  if (!parsed.is_object()) return Error::invalid("", "must be a JSON object");
  return std::move(parsed.get_object());
}

namespace {

Result<json::object> object_of(JsonLine read, std::string_view line, std::size_t max_depth) {
  if (read == JsonLine::kTooLong)
    return Error::invalid("", "a line has at most " + std::to_string(kMaxJsonLineBytes) + " bytes");
  auto object = parse_json_line(line, max_depth);
  if (!object) return Error::invalid("", "the line " + object.error().message);
  return object;
}

}  // namespace

bool filter_json_lines(std::istream& in, std::ostream& out, std::size_t max_depth,
                       const std::function<Result<json::object>(json::object)>& answer) {
  std::string line;
  while (out) {
    const JsonLine read = read_json_line(in, line);
    if (read == JsonLine::kNone) break;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    auto given = object_of(read, line, max_depth);
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
