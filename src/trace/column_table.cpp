#include "trace/column_table.h"

#include <algorithm>
#include <charconv>

#include "trace/csv_row.h"
#include "trace/line_source.h"

namespace takt::trace {
namespace {

constexpr std::size_t kMostColumnLineBytes = 1'000'000;

void add_value(ColumnFigures& column, std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return;
  column.least = column.numbers == 0 ? value : std::min(column.least, value);
  column.most = column.numbers == 0 ? value : std::max(column.most, value);
  ++column.numbers;
  column.mean += (value - column.mean) / static_cast<double>(column.numbers);
}

}  // namespace

Result<ColumnTable> read_columns(const std::string& path) {
  auto lines = LineSource::open(path, kMostColumnLineBytes);
  if (!lines) return lines.error();
  const auto wrong = [&] {
    return Error::invalid("", path + ":" + std::to_string(lines->number()) + ": is no row of a table");
  };
  ColumnTable table;
  CsvRow row;
  for (;;) {
    std::string_view line;
    auto got = lines->next(line);
    if (!got) return got.error();
    if (*got == LineSource::Got::kEnd) break;
    if (*got == LineSource::Got::kTooLong || !row.split(line)) return wrong();
    if (lines->number() == 1) {
      if (row.size() < 2) return wrong();
      for (std::size_t i = 0; i < row.size(); ++i) table.columns.push_back({std::string(row[i])});
      continue;
    }
    if (row.size() != table.columns.size()) return wrong();
    ++table.rows;
    for (std::size_t i = 0; i < row.size(); ++i) add_value(table.columns[i], row[i]);
  }
  if (table.rows == 0) return wrong();
  return table;
}

}  // namespace takt::trace
