#include "trace/takt_format.h"

#include <xxhash.h>

#include <boost/json.hpp>
#include <cstdio>
#include <utility>

#include "trace/json_values.h"
#include "trace/record_json.h"
#include "trace/row_parser.h"

namespace takt::trace {
namespace {

namespace json = boost::json;

constexpr std::string_view kCheckPrefix = R"(,"check":")";
constexpr std::string_view kCheckSuffix = R"("})";
constexpr std::size_t kCheckDigits = 8;

std::string checksum_digits(std::string_view text) {
  char digits[kCheckDigits + 1];
  std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(XXH3_64bits(text.data(), text.size())));
  return digits;
}

// The checksum is of all of the line before it.
void close_checked_line(std::string& out, std::size_t start) {
  const std::string digits = checksum_digits(std::string_view(out).substr(start));
  out += kCheckPrefix;
  out += digits;
  out += kCheckSuffix;
  out += '\n';
}

bool checksum_holds(std::string_view line) {
  constexpr std::size_t kEnd = kCheckPrefix.size() + kCheckDigits + kCheckSuffix.size();
  if (line.size() < kEnd) return false;
  const std::string_view body = line.substr(0, line.size() - kEnd);
  const std::string_view end = line.substr(body.size());
  return end.substr(0, kCheckPrefix.size()) == kCheckPrefix &&
         end.substr(kCheckPrefix.size(), kCheckDigits) == checksum_digits(body) &&
         end.substr(kCheckPrefix.size() + kCheckDigits) == kCheckSuffix;
}

Error wrong_checksum() {
  return Error::invalid("check", "its checksum does not hold");
}

class TaktParser final : public RowParser {
 public:
  explicit TaktParser(TaktTraceHead head) : head_(std::move(head)) {}

  Result<Row> parse(std::string_view line) override {
    if (head_.checked && !checksum_holds(line)) return wrong_checksum();
    auto fields = memory_.parse(line);
    if (!fields) return fields.error();
    auto record = record_of(**fields, head_.checked ? "check" : "");
    if (!record) return record.error();
    return Row{std::move(*record), nullptr};
  }

  void describe(Origin& origin) const override {
    origin.format = Format::kTakt;
    origin.has_arrivals = head_.has_arrivals;
    origin.wall_nanoseconds = head_.wall_nanoseconds;
    origin.server = head_.server;
    origin.configuration = head_.configuration;
  }

 private:
  const TaktTraceHead head_;
  JsonMemory memory_;
};

}  // namespace

std::string head_line(const TaktTraceHead& head) {
  std::string line(kTaktTraceBeginning);
  line += R"(,"version":)" + std::to_string(kTaktTraceVersion);
  line += R"(,"wall_ns":)" + (head.wall_nanoseconds ? std::to_string(*head.wall_nanoseconds) : "null");
  line += R"(,"run":)" + std::to_string(head.run) + R"(,"part":)" + std::to_string(head.part);
  line += std::string(R"(,"has_arrivals":)") + (head.has_arrivals ? "true" : "false");
  line += std::string(R"(,"checked":)") + (head.checked ? "true" : "false");
  line += R"(,"server":)" + json::serialize(json::string(head.server));
  line += R"(,"configuration":)" + (head.configuration.empty() ? std::string("null") : head.configuration);
  if (head.checked) {
    close_checked_line(line, 0);
  } else {
    line += "}\n";
  }
  return line;
}

void append_record_line(std::string& out, const Record& record) {
  const std::size_t start = out.size();
  append_record_fields(out, record);
  close_checked_line(out, start);
}

Result<TaktTraceHead> parse_head_line(std::string_view line) {
  json::error_code failure;
  const json::value parsed = json::parse(line, failure);
  if (failure || !parsed.is_object()) return Error::invalid("", "the head of the trace is not valid JSON");
  const json::object& fields = parsed.get_object();
  const auto field = [&](const char* name) {
    const json::value* value = fields.if_contains(name);
    return value == nullptr ? json::value() : *value;
  };
  if (field("format") != json::value("takt-trace")) return Error::invalid("format", "it is no takt-trace");
  if (field("version") != json::value(kTaktTraceVersion))
    return Error::invalid("version", "the trace is of version " + json::serialize(field("version")) +
                                         "; this program reads version " + std::to_string(kTaktTraceVersion));
  const json::value run = field("run");
  const json::value part = field("part");
  const json::value wall = field("wall_ns");
  const json::value server = field("server");
  const json::value arrivals = field("has_arrivals");
  const json::value checked = field("checked");
  constexpr std::size_t kHeadFields = 9;
  const bool complete = fields.size() == kHeadFields + (fields.contains("check") ? 1 : 0);
  if (!complete || !run.is_number() || !part.is_int64() || !(wall.is_int64() || wall.is_null()) ||
      !server.is_string() || !arrivals.is_bool() || !checked.is_bool() || !fields.contains("configuration"))
    return Error::invalid("", "the head of the trace lacks a field, has an unknown one, or one is of the wrong kind");
  TaktTraceHead head;
  head.run = run.to_number<std::uint64_t>(failure);
  head.part = part.to_number<std::uint64_t>(failure);
  if (wall.is_int64()) head.wall_nanoseconds = wall.get_int64();
  head.has_arrivals = arrivals.get_bool();
  head.checked = checked.get_bool();
  head.server = server.get_string();
  if (!field("configuration").is_null()) head.configuration = json::serialize(field("configuration"));
  if (head.checked && !checksum_holds(line)) return wrong_checksum();
  return head;
}

Result<std::unique_ptr<RowParser>> make_takt_parser(std::string_view header) {
  auto head = parse_head_line(header);
  if (!head) return head.error();
  return std::unique_ptr<RowParser>(std::make_unique<TaktParser>(std::move(*head)));
}

}  // namespace takt::trace
