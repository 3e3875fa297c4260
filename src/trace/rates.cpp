#include "trace/rates.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "trace/csv_row.h"
#include "trace/line_source.h"
#include "trace/number_text.h"

namespace takt::trace {
namespace {

constexpr std::size_t kMostRateBytes = 100'000'000;
constexpr std::size_t kMostRateLineBytes = 1'000'000;
constexpr std::string_view kRateSuffix = "_rps";
constexpr std::string_view kVariationSuffix = "_cv";

std::optional<double> rate_number(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < 0.0)
    return std::nullopt;
  return value;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
}

// Reads a table row by row.
class RateTableReader {
 public:
  Status take_header(std::string_view line) {
    if (!is_rate_table(line) || !row_.split(line)) return Error::invalid("", "its columns are not those of rates");
    for (std::size_t i = 2; i < row_.size(); i += 2) {
      const std::string_view name = row_[i].substr(0, row_[i].size() - kRateSuffix.size());
      if (i + 1 == row_.size() || row_[i + 1] != std::string(name) + std::string(kVariationSuffix))
        return Error::invalid("",
                              "column \"" + std::string(name) + "_cv\" must follow \"" + std::string(name) + "_rps\"");
      table_.clients.push_back({std::string(name), {}});
    }
    return {};
  }

  Status take_row(std::string_view line) {
    if (!row_.split(line) || row_.size() != 2 + 2 * table_.clients.size())
      return Error::invalid("", "does not have the header's number of values");
    if (const Status timed = take_start(row_[0]); !timed) return timed;
    const auto total = rate_number(row_[1]);
    if (!total) return wrong("total_rps");
    table_.total_rps.push_back(*total);
    for (std::size_t i = 0; i < table_.clients.size(); ++i) {
      const auto rate = rate_number(row_[2 + 2 * i]);
      const auto variation = rate_number(row_[3 + 2 * i]);
      if (!rate || !variation) return wrong(table_.clients[i].name);
      table_.clients[i].windows.push_back({*rate, *variation});
    }
    return {};
  }

  Result<RateTable> finish() {
    if (table_.total_rps.empty()) return Error::invalid("", "has no windows");
    return std::move(table_);
  }

 private:
  Status take_start(std::string_view text) {
    const auto start = parse_decimal(text, std::chrono::seconds(1));
    if (!start) return wrong("t_s");
    const std::size_t place = table_.total_rps.size();
    if (place == 1) table_.window = *start - start_;
    if (place >= 1 && (*start - start_ != table_.window || table_.window <= Duration(0)))
      return Error::invalid("t_s", "its window is not as long as the one before it");
    if (place == 0) table_.window = std::chrono::minutes(10);  // for a table of one row
    start_ = *start;
    return {};
  }
  static Error wrong(const std::string& name) {
    return Error::invalid(name, "the values of " + name + " must be numbers, at least 0");
  }

  RateTable table_;
  CsvRow row_;
  Duration start_{0};
};

}  // namespace

bool is_rate_table(std::string_view header) {
  CsvRow names;
  return names.split(header) && names.size() >= 2 && names[0] == "t_s" && names[1] == "total_rps" &&
         (names.size() == 2 || ends_with(names[2], kRateSuffix));
}

Result<RateTable> read_rates(const std::string& path) {
  auto lines = LineSource::open(path, kMostRateLineBytes);
  if (!lines) return lines.error();
  const auto at_line = [&](const std::string& message) {
    return Error::invalid("", path + ":" + std::to_string(lines->number()) + ": " + message);
  };
  RateTableReader reader;
  std::size_t bytes = 0;
  for (;;) {
    std::string_view line;
    auto got = lines->next(line);
    if (!got) return got.error();
    if (*got == LineSource::Got::kEnd) break;
    bytes += line.size();
    if (*got == LineSource::Got::kTooLong || bytes > kMostRateBytes)
      return at_line("is more than a table of rates may hold");
    if (line.empty()) continue;
    const Status taken = lines->number() == 1 ? reader.take_header(line) : reader.take_row(line);
    if (!taken) return at_line(taken.error().message);
  }
  auto table = reader.finish();
  if (!table) return Error::invalid("", path + " " + table.error().message);
  return table;
}

Result<std::unique_ptr<RateProfile>> rates_of(const RateTable& table, const RateTable::Client& client, double scale) {
  std::vector<RateSegment> segments;
  segments.reserve(client.windows.size());
  for (const RateWindow& window : client.windows) {
    const double rate = window.rps * scale;
    segments.push_back({table.window, rate, rate, window.cv > 0.0 ? 1.0 / (window.cv * window.cv) : 1.0});
  }
  return rate_course(std::move(segments));
}

}  // namespace takt::trace
