#include "metrics/step_log_reader.h"

#include <boost/json.hpp>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "metrics/step_line.h"
#include "metrics/step_writer.h"

namespace takt::metrics {
namespace {

namespace json = boost::json;

// False at the end. What is longer than a line may be is cut, and then no JSON.
bool read_line(std::istream& in, std::string& line, bool& whole) {
  line.clear();
  whole = false;
  std::streambuf& bytes = *in.rdbuf();
  using Traits = std::istream::traits_type;
  for (auto c = bytes.sbumpc(); !Traits::eq_int_type(c, Traits::eof()); c = bytes.sbumpc()) {
    whole = Traits::to_char_type(c) == '\n';
    if (whole) return true;
    if (line.size() < kMaxStepLineBytes) line += Traits::to_char_type(c);
  }
  return !line.empty();
}

Error no_log(const std::string& path) {
  return Error::invalid("", path + " is no step log of version " + std::to_string(kStepLogVersion));
}

}  // namespace

Result<StepLogReader::Head> StepLogReader::read_head(const std::string& path) {
  // Whatever else gives bytes is not read: a device has no end, and a pipe could not be read twice.
  std::error_code failed;
  if (const auto status = std::filesystem::status(path, failed);
      std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return Error{ErrorCode::kIo, path + " is not a regular file", {}};
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{ErrorCode::kIo, path + ": " + std::generic_category().message(errno), {}};
  std::string line;
  bool whole = false;
  read_line(in, line, whole);
  boost::system::error_code error;
  const json::value parsed = json::parse(line, error);
  if (error || !parsed.is_object()) return no_log(path);
  const json::object& fields = parsed.get_object();
  const auto* format = fields.if_contains("format");
  const auto* version = fields.if_contains("version");
  const auto* run = fields.if_contains("run");
  const auto* part = fields.if_contains("part");
  const auto* models = fields.if_contains("models");
  const bool known = format != nullptr && *format == "takt-step-log" && version != nullptr &&
                     *version == kStepLogVersion && run != nullptr && run->is_number() && part != nullptr &&
                     part->is_number() && models != nullptr && models->is_array();
  if (!known) return no_log(path);
  Head head;
  head.run = run->to_number<std::int64_t>(error);
  head.part = part->to_number<std::uint64_t>(error);
  for (const json::value& name : models->get_array()) {
    if (name.is_string()) head.models.emplace_back(name.get_string());
  }
  return head;
}

Result<StepLogReader> StepLogReader::open(const std::string& path) {
  auto head = read_head(path);
  if (!head) return head.error();
  StepLogReader reader;
  reader.models_ = std::move(head->models);
  reader.first_part_ = head->part;
  reader.files_.push_back(path);
  while (reader.first_part_ > 0) {
    const std::string older = path + "." + std::to_string(reader.files_.size());
    const auto older_head = read_head(older);
    if (!older_head || older_head->run != head->run || older_head->part + 1 != reader.first_part_) break;
    reader.first_part_ = older_head->part;
    reader.files_.push_back(older);
  }
  if (!reader.open_next_file()) return no_log(path);
  return reader;
}

bool StepLogReader::open_next_file() {
  if (files_.empty()) return false;
  file_ = std::move(files_.back());
  files_.pop_back();
  in_ = std::ifstream(file_, std::ios::binary);
  std::string head;
  bool whole = false;
  line_ = 1;
  return read_line(in_, head, whole);
}

Error StepLogReader::at_line(const std::string& message) const {
  return Error::invalid("", file_ + ":" + std::to_string(line_) + ": " + message);
}

Result<std::optional<StepRecord>> StepLogReader::next() {
  std::string line;
  bool whole = false;
  while (!read_line(in_, line, whole)) {
    if (!open_next_file()) return std::optional<StepRecord>{};
  }
  ++line_;
  auto record = parse_step_line(line, states_);
  if (record) return std::optional(std::move(*record));
  if (!whole && files_.empty()) return std::optional<StepRecord>{};
  return at_line(record.error().message);
}

}  // namespace takt::metrics
