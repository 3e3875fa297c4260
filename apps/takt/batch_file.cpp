#include "batch_file.h"

#include <boost/json.hpp>
#include <unordered_map>
#include <utility>

#include "json_line.h"

namespace takt::app {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxRequestDepth = 64;
constexpr std::string_view kAnswerBegins = R"({"id":"batch_req_)";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

Result<std::string> text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return Error::invalid("", "needs '" + std::string(name) + "', a string");
  return std::string(value->get_string());
}

// The place behind the string that begins at `at`, in valid JSON.
std::size_t behind_string(std::string_view text, std::size_t at) {
  for (++at; text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

// The bytes of the object that stands in `line`, a valid object of JSON, under `name`; of the last one, as parsers take
// it. Numbers stay as they were written: a parser's own do not hold all of them.
std::string_view object_bytes(std::string_view line, std::string_view name) {
  const std::string quoted_name = '"' + std::string(name) + '"';
  std::string_view found;
  bool named = false;  // the key before here is `name`
  std::size_t depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < line.size();) {
    const char c = line[at];
    if (c == '"') {
      const std::size_t end = behind_string(line, at);
      if (depth == 1) named = line.substr(at, end - at) == quoted_name;
      at = end;
      continue;
    }
    if (c == '{' || c == '[') {
      if (++depth == 2) begin = at;
    } else if (c == '}' || c == ']') {
      if (depth-- == 2 && named) found = line.substr(begin, at + 1 - begin);
    } else if (c == ',' && depth == 1) {
      named = false;
    }
    ++at;
  }
  return found;
}

Result<BatchRequest> read_request(std::string_view line) {
  const auto object = parse_json_line(line, kMaxRequestDepth);
  if (!object) return object.error();
  BatchRequest request;
  for (const auto& [name, target] : {std::pair{"custom_id", &request.custom_id}, std::pair{"url", &request.path}}) {
    auto text = text_of(*object, name);
    if (!text) return text.error();
    *target = std::move(*text);
  }
  if (request.custom_id.empty() || request.custom_id.size() > kMaxCustomIdBytes)
    return Error::invalid("", "'custom_id' must have 1 to " + std::to_string(kMaxCustomIdBytes) + " bytes");
  const auto method = text_of(*object, "method");
  if (!method) return method.error();
  if (*method != "POST") return Error::invalid("", "'method' must be POST");
  if (request.path != "/v1/chat/completions" && request.path != "/v1/completions")
    return Error::invalid("", "'url' must be /v1/chat/completions or /v1/completions");
  const json::value* body = object->if_contains("body");
  if (body == nullptr || !body->is_object()) return Error::invalid("", "needs 'body', an object");
  const json::value* stream = body->get_object().if_contains("stream");
  if (stream != nullptr && stream->is_bool() && stream->get_bool())
    return Error::invalid("", "'body.stream' must not be true: answers are written whole");
  request.body = object_bytes(line, "body");
  if (request.body.empty()) return Error::invalid("", "needs 'body', written without escapes");
  return request;
}

bool is_blank(const std::string& line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

std::string_view header_of(const http::Response& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (key == name) return value;
  }
  return {};
}

std::string quoted(std::string_view text) {
  return json::serialize(json::string_view(text.data(), text.size()));
}

}  // namespace

Result<std::optional<BatchRequest>> BatchReader::next() {
  std::string line;
  for (;;) {
    const JsonLine read = read_json_line(in_, line);
    if (read == JsonLine::kNone) return std::optional<BatchRequest>();
    ++line_;
    const std::string at = "line " + std::to_string(line_);
    if (line_ == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    if (read == JsonLine::kTooLong)
      return Error::invalid(at, at + " has more than " + std::to_string(kMaxJsonLineBytes) + " bytes");
    if (is_blank(line)) continue;
    auto request = read_request(line);
    if (!request) return Error::invalid(at, at + " " + request.error().message);
    request->line = line_;
    return std::optional<BatchRequest>(std::move(*request));
  }
}

BatchCheck check_batch(std::istream& in, std::size_t most) {
  BatchCheck check;
  BatchReader reader(in);
  std::unordered_map<std::string, std::uint64_t> lines;  // by custom id
  while (check.faults.size() < most) {
    auto request = reader.next();
    if (!request) {
      check.faults.push_back(request.error().message);
      continue;
    }
    if (!*request) break;
    const auto [known, is_new] = lines.emplace(std::move((*request)->custom_id), (*request)->line);
    if (is_new) {
      ++check.requests;
    } else {
      check.faults.push_back("line " + std::to_string((*request)->line) + " has the 'custom_id' of line " +
                             std::to_string(known->second) + ", " + quoted(known->first));
    }
  }
  return check;
}

std::string batch_answer_line(const BatchRequest& request, const http::Response& response) {
  const std::string_view id = header_of(response, "x-request-id");
  const bool is_json = response.content_type.starts_with("application/json") && !response.body.empty();
  std::string line = std::string(kAnswerBegins) + std::to_string(request.line);
  line += R"(","custom_id":)" + quoted(request.custom_id);
  line += R"(,"response":{"status_code":)" + std::to_string(response.status);
  line += R"(,"request_id":)" + quoted(id);
  line += R"(,"body":)" + (is_json ? response.body : quoted(response.body));
  line += R"(},"error":null})";
  return line;
}

Result<BatchAnswered> read_answered(std::istream& in) {
  BatchAnswered answered;
  std::string line;
  for (std::uint64_t number = 1;; ++number) {
    const JsonLine read = read_json_line(in, line);
    const bool cut_off =
        read == JsonLine::kCutOff && (line.starts_with(kAnswerBegins) || kAnswerBegins.starts_with(line));
    if (read == JsonLine::kNone || cut_off) return answered;
    const std::string at = "line " + std::to_string(number);
    if (read == JsonLine::kTooLong)
      return Error::invalid(at, at + " has more than " + std::to_string(kMaxJsonLineBytes) + " bytes");
    answered.whole_bytes += line.size() + (read == JsonLine::kWhole ? 1 : 0);
    if (is_blank(line)) continue;
    const auto object = parse_json_line(line, kMaxRequestDepth);
    if (!object) return Error::invalid(at, at + " " + object.error().message);
    if (!line.starts_with(kAnswerBegins)) return Error::invalid(at, at + " is no answer of takt batch");
    auto id = text_of(*object, "custom_id");
    if (!id) return Error::invalid(at, at + " " + id.error().message);
    answered.custom_ids.insert(std::move(*id));
  }
}

}  // namespace takt::app
