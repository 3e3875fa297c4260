#include "trace_report.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "trace/column_table.h"
#include "trace/line_source.h"
#include "trace/number_text.h"
#include "trace/rates.h"
#include "trace/row_parser.h"
#include "trace/sorted_reader.h"
#include "trace/summary.h"

namespace takt::app {
namespace {

[[gnu::format(printf, 1, 2)]] std::string format_text(const char* format, ...) {
  std::array<char, 512> text{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  return text.data();
}

std::string lengths_line(const char* name, const trace::CountedNumbers& lengths) {
  // Of so few the last percentiles would be single requests.
  constexpr std::uint64_t kEnoughForP99 = 1000;
  std::string line = format_text("  %-8s mean %.0f  p50 %.0f  p90 %.0f", name, lengths.mean(), lengths.percentile(0.5),
                                 lengths.percentile(0.9));
  if (lengths.count() >= kEnoughForP99) line += format_text("  p99 %.0f", lengths.percentile(0.99));
  return line + "  tokens\n";
}

std::string names_line(const char* what, const trace::Summary::Names& names) {
  if (names.size() == 1 && names.begin()->first == "-") return {};
  std::string line = format_text("  %s:", what);
  for (const auto& [name, count] : names) line += " " + name + " " + std::to_string(count) + ",";
  line.back() = '\n';
  return line;
}

std::string arrivals_text(const trace::Summary& summary, const trace::Origin& origin) {
  if (!origin.has_arrivals) return "  arrivals no instants: lengths only\n";
  std::string text =
      format_text("  arrivals %.1f s, %.3f a second", to_seconds(summary.span()), summary.requests_per_second());
  if (const auto variation = summary.gap_variation()) text += format_text(", variation of gaps %.2f", *variation);
  if (const auto dispersion = summary.dispersion())
    text += format_text(", variance by mean of each second %.2f", *dispersion);
  text += '\n';
  if (origin.wall_nanoseconds) text += "  begins   " + trace::wall_text(*origin.wall_nanoseconds) + " UTC\n";
  return text;
}

std::string reuse_line(const trace::Summary& summary) {
  constexpr double kPercent = 100.0;
  const auto share = summary.reusable_share();
  if (!share) return "  prefixes not recorded: nothing is shared\n";
  return format_text("  prefixes %s%.1f %% of the input tokens were there before\n",
                     summary.reuse_is_a_lower_bound() ? "at least " : "", *share * kPercent);
}

// A look-alike of that name with made-up numbers is about.
std::string look_alike_line(const trace::Summary& summary, trace::Format format) {
  constexpr double kPrompt = 621.0;  // of the published trace
  constexpr double kOutput = 126.0;
  constexpr std::uint64_t kEnoughRows = 100'000;
  if (format != trace::Format::kBurstGpt || summary.records() < kEnoughRows) return {};
  const bool like = summary.prompt().mean() > kPrompt / 2 && summary.prompt().mean() < kPrompt * 2 &&
                    summary.output().mean() > kOutput / 2 && summary.output().mean() < kOutput * 2;
  return like ? std::string()
              : "  note     the published BurstGPT has about 621 and 126 tokens on average: is this another file?\n";
}

Error no_request(const trace::Reader& reader) {
  const trace::ReadCounts& counts = reader.counts();
  std::string text = reader.origin().file + " holds no request: 0 of " + std::to_string(counts.rows) + " rows";
  for (const auto& [reason, count] : counts.dropped) text += "; left out " + std::to_string(count) + ": " + reason;
  if (counts.malformed > 0)
    text += "; " + std::to_string(counts.malformed) + " malformed, the first: " + counts.first_malformed;
  return Error::invalid("", text);
}

Result<std::string> request_report(trace::Reader& reader) {
  trace::Summary summary;
  for (;;) {
    auto record = reader.next();
    if (!record) return record.error();
    if (!*record) break;
    summary.add(**record);
  }
  const trace::Origin& origin = reader.origin();
  if (summary.records() == 0) return no_request(reader);
  std::string text = origin.file + ": " + to_string(origin.format) + "\n";
  text += counts_report(reader.counts());
  text += arrivals_text(summary, origin);
  text += lengths_line("input", summary.prompt());
  text += lengths_line("output", summary.output());
  text += reuse_line(summary);
  text += names_line("classes", summary.classes());
  text += names_line("applications", summary.applications());
  text += names_line("outcomes", summary.outcomes());
  if (summary.sessions() > 0)
    text +=
        format_text("  sessions %llu requests belong to one\n", static_cast<unsigned long long>(summary.sessions()));
  if (!origin.server.empty()) text += "  server   " + origin.server + "\n";
  text += look_alike_line(summary, origin.format);
  return text;
}

Result<std::string> rates_report(const std::string& path) {
  const auto table = trace::read_rates(path);
  if (!table) return table.error();
  double total = 0.0;
  double most = 0.0;
  for (const double rate : table->total_rps) {
    total += rate;
    most = std::max(most, rate);
  }
  std::string text = path + ": rates over time\n";
  text += format_text("  windows  %zu of %.0f s\n  total    mean %.1f, most %.1f requests a second\n  clients ",
                      table->total_rps.size(), to_seconds(table->window),
                      total / static_cast<double>(table->total_rps.size()), most);
  for (const auto& client : table->clients) {
    double sum = 0.0;
    for (const trace::RateWindow& window : client.windows) sum += window.rps;
    text += format_text(" %s %.2f,", client.name.c_str(), sum / static_cast<double>(client.windows.size()));
  }
  text.back() = '\n';
  return text;
}

Result<std::string> columns_report(const std::string& path) {
  const auto table = trace::read_columns(path);
  if (!table) return table.error();
  std::string text = path + ": a table, and no trace of requests\n";
  text += format_text("  rows     %llu\n", static_cast<unsigned long long>(table->rows));
  for (const trace::ColumnFigures& column : table->columns) {
    text += "  " + column.name;
    text += column.numbers == table->rows ? format_text(": %g to %g, mean %g\n", column.least, column.most, column.mean)
                                          : std::string(": words\n");
  }
  return text;
}

Result<std::string> first_line_of(const std::string& path) {
  constexpr std::size_t kEnough = std::size_t{1} << 20;
  auto lines = trace::LineSource::open(path, kEnough);
  if (!lines) return lines.error();
  std::string_view line;
  auto got = lines->next(line);
  if (!got) return got.error();
  return *got == trace::LineSource::Got::kLine ? std::string(line) : std::string();
}

}  // namespace

std::string counts_report(const trace::ReadCounts& counts) {
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::string text = format_text("  requests %llu of %llu rows\n", number(counts.records), number(counts.rows));
  for (const auto& [reason, count] : counts.dropped)
    text += format_text("  left out %llu: %s\n", number(count), reason.c_str());
  if (counts.malformed > 0)
    text +=
        format_text("  skipped  %llu malformed, the first: ", number(counts.malformed)) + counts.first_malformed + "\n";
  if (counts.out_of_order > 0)
    text += format_text("  order    %llu arrive before the one before them\n", number(counts.out_of_order));
  return text;
}

Result<std::string> trace_report(const std::string& path, const trace::ReadOptions& options) {
  auto reader = trace::open_trace(path, options);
  if (reader) {
    // As they arrived: a capture has them as they ended.
    if ((*reader)->origin().has_arrivals)
      *reader = trace::sorted_by_arrival(std::move(*reader), trace::OnMalformed::kSkip);
    return request_report(**reader);
  }
  if (reader.error().code != ErrorCode::kInvalidArgument) return reader.error();
  // Only a file gives its beginning a second time.
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return reader.error();
  const auto head = first_line_of(path);
  if (!head) return reader.error();
  if (trace::is_rate_table(*head)) return rates_report(path);
  // A file of requests with a fault is no other table.
  if (trace::names_requests(*head)) return reader.error();
  auto columns = columns_report(path);
  return columns ? columns : Result<std::string>(reader.error());
}

}  // namespace takt::app
