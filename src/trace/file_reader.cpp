#include "trace/file_reader.h"

#include <utility>

namespace takt::trace {
namespace {

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

void remove_byte_order_mark(std::string_view& line) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (line.substr(0, kMark.size()) == kMark) line.remove_prefix(kMark.size());
}

}  // namespace

Result<std::unique_ptr<FileReader>> FileReader::open(const std::string& path, const ReadOptions& options) {
  auto lines = LineSource::open(path, options.max_line_bytes);
  if (!lines) return lines.error();
  std::unique_ptr<FileReader> reader(new FileReader(std::move(*lines), options));
  if (const Status begun = reader->begin(); !begun) return begun.error();
  return reader;
}

Status FileReader::begin() {
  std::string_view line;
  for (bool first = true;; first = false) {
    auto got = lines_.next(line);
    if (!got) return got.error();
    if (*got == LineSource::Got::kEnd) return Error::invalid("", lines_.path() + " is empty");
    if (*got == LineSource::Got::kTooLong) return Error::invalid("", at_line(too_long()));
    if (first) remove_byte_order_mark(line);
    if (!is_blank(line)) break;
  }
  auto format = choose_format(line);
  if (!format) return Error::invalid(format.error().field, at_line(format.error().message));
  format_ = std::move(*format);
  origin_.file = lines_.path();
  auto ahead = format_.header ? read_record() : read_row(line);
  if (ahead && !format_.header && !*ahead) ahead = read_record();
  if (!ahead) return ahead.error();
  ended_ = !ahead->has_value();
  ahead_ = std::move(*ahead);
  format_.parser->describe(origin_);
  return {};
}

Result<std::optional<Record>> FileReader::next() {
  if (ended_) return std::optional<Record>{};
  auto record = ahead_ ? Result<std::optional<Record>>(std::exchange(ahead_, std::nullopt)) : read_record();
  ended_ = !record || !record->has_value();
  if (ended_) return record;
  ++counts_.records;
  if (last_arrival_ && (*record)->arrival < *last_arrival_) ++counts_.out_of_order;
  last_arrival_ = (*record)->arrival;
  return record;
}

// The next row that is a record.
Result<std::optional<Record>> FileReader::read_record() {
  std::string_view line;
  for (;;) {
    auto got = lines_.next(line);
    if (!got) return got.error();
    if (*got == LineSource::Got::kEnd) return std::optional<Record>{};
    Result<std::optional<Record>> record = std::optional<Record>{};
    if (*got == LineSource::Got::kTooLong) {
      ++counts_.rows;
      record = malformed(Error::invalid("", too_long()));
    } else if (!is_blank(line) || (format_.may_tear && !line.empty())) {
      record = read_row(line);
    }
    if (!record || record->has_value()) return record;
  }
}

// Empty: the row is none of a request.
Result<std::optional<Record>> FileReader::read_row(std::string_view line) {
  ++counts_.rows;
  auto row = format_.parser->parse(line);
  if (!row) {
    if (!format_.may_tear || lines_.whole()) return malformed(row.error());
    ++counts_.dropped["cut off by a crash"];
    return std::optional<Record>{};
  }
  if (!row->record) ++counts_.dropped[row->dropped];
  return std::move(row->record);
}

Result<std::optional<Record>> FileReader::malformed(const Error& error) {
  std::string text = at_line(error.message);
  if (options_.on_malformed == OnMalformed::kRefuse) return Error::invalid(error.field, std::move(text));
  ++counts_.malformed;
  if (counts_.first_malformed.empty()) counts_.first_malformed = std::move(text);
  return std::optional<Record>{};
}

std::string FileReader::at_line(const std::string& message) const {
  return lines_.path() + ":" + std::to_string(lines_.number()) + ": " + message;
}

std::string FileReader::too_long() const {
  return "has more than " + std::to_string(options_.max_line_bytes) + " bytes";
}

}  // namespace takt::trace
