#include "trace/csv_row.h"

namespace takt::trace {

bool CsvRow::split(std::string_view line) {
  values_.clear();
  if (line.find('"') != std::string_view::npos) return split_quoted(line);
  for (;;) {
    const std::size_t comma = line.find(',');
    values_.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return true;
    line.remove_prefix(comma + 1);
  }
}

bool CsvRow::split_quoted(std::string_view line) {
  unquoted_.clear();
  unquoted_.reserve(line.size());  // views into it stay valid
  std::size_t at = 0;
  for (;;) {
    const std::size_t start = unquoted_.size();
    const bool quoted = at < line.size() && line[at] == '"';
    if (quoted) ++at;
    for (;; ++at) {
      if (at == line.size()) {
        if (quoted) return false;
        break;
      }
      if (quoted && line[at] == '"') {
        ++at;
        if (at == line.size() || line[at] == ',') break;
        if (line[at] != '"') return false;
      } else if (!quoted && line[at] == ',') {
        break;
      } else if (!quoted && line[at] == '"') {
        return false;
      }
      unquoted_ += line[at];
    }
    values_.push_back(std::string_view(unquoted_).substr(start));
    if (at == line.size()) return true;
    ++at;
  }
}

void append_csv_value(std::string& out, std::string_view value) {
  if (value.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += value;
    return;
  }
  out += '"';
  for (const char c : value) {
    if (c == '"') out += '"';
    // A line break would end the row for readers that go line by line.
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  out += '"';
}

}  // namespace takt::trace
