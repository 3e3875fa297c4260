// A line of comma-separated values (RFC 4180; a quoted value may not hold a line break).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace takt::trace {

class CsvRow {
 public:
  // False when a quotation mark is not where it may be. Values stay valid until the next call, as long as `line` lives.
  bool split(std::string_view line);
  std::size_t size() const { return values_.size(); }
  std::string_view operator[](std::size_t column) const { return values_[column]; }

 private:
  bool split_quoted(std::string_view line);

  std::vector<std::string_view> values_;
  std::string unquoted_;
};

// With quotation marks where they are needed.
void append_csv_value(std::string& out, std::string_view value);

}  // namespace takt::trace
