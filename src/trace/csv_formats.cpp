// Traces as tables: Azure's, BurstGPT's, and those with columns of plain names. A column is found by its name, never by
// its place: BurstGPT 3 has put new ones in between.
#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/csv_row.h"
#include "trace/mix.h"
#include "trace/number_text.h"
#include "trace/row_parser.h"

namespace takt::trace {
namespace {

constexpr Duration kSecondUnit = std::chrono::seconds(1);

// What a row says besides the record's own fields.
struct RowFacts {
  Record record;
  std::string_view tier;  // as it is written; may be empty
  std::string_view prefix;
  std::uint32_t prefix_tokens = 0;
  std::optional<Duration> queued;  // these four on the clock of the arrivals
  std::optional<Duration> scheduled;
  std::optional<Duration> first_token;
  std::optional<Duration> last_token;
};

// False: the value is wrong.
using TakeValue = bool (*)(std::string_view value, RowFacts& row);

struct Column {
  const char* name;
  const char* expected;  // "a whole number"
  TakeValue take;
};

// Of an arrival: nobody comes before the trace begins.
bool take_arrival(std::string_view value, Duration& out) {
  const auto time = parse_decimal(value, kSecondUnit);
  if (!time || *time < Duration(0)) return false;
  out = *time;
  return true;
}

bool take_optional_time(std::string_view value, std::optional<Duration>& out) {
  if (value.empty()) return true;
  out = parse_decimal(value, kSecondUnit);
  return out.has_value();
}

bool take_count(std::string_view value, std::uint32_t& out) {
  const auto count = parse_count(value);
  if (count) out = *count;
  return count.has_value();
}

// A caller's tier by its usual names; everything but batch is somebody who waits.
bool take_tier(std::string_view value, RowFacts& row) {
  if (value.empty()) return true;
  if (value != "realtime" && value != "interactive" && value != "standard" && value != "batch") return false;
  row.record.tier = value == "batch" ? Tier::kBatch : Tier::kRealtime;
  row.tier = value;
  return true;
}

constexpr const char* kWholeNumber = "a whole number from 0 to 4294967295";
constexpr const char* kSecondsNumber = "a number of seconds";
constexpr const char* kArrivalNumber = "a number of seconds from 0";

constexpr std::array kPlainColumns = {
    Column{"arrival_s", kArrivalNumber,
           [](std::string_view value, RowFacts& row) { return take_arrival(value, row.record.arrival); }},
    Column{"input_tokens", kWholeNumber,
           [](std::string_view value, RowFacts& row) { return take_count(value, row.record.prompt_tokens); }},
    Column{"output_tokens", kWholeNumber,
           [](std::string_view value, RowFacts& row) { return take_count(value, row.record.output_tokens); }},
    Column{"cached_tokens", kWholeNumber,
           [](std::string_view value, RowFacts& row) {
             row.record.cached_tokens = parse_count(value);
             return row.record.cached_tokens.has_value();
           }},
    Column{"application", "text",
           [](std::string_view value, RowFacts& row) {
             row.record.application = value;
             return true;
           }},
    Column{"client", "text",
           [](std::string_view value, RowFacts& row) {
             row.record.tenant = value;
             return true;
           }},
    Column{"tenant", "text",
           [](std::string_view value, RowFacts& row) {
             row.record.tenant = value;
             return true;
           }},
    Column{"user", "text",
           [](std::string_view value, RowFacts& row) {
             row.record.user = value;
             return true;
           }},
    Column{"class", "text",
           [](std::string_view value, RowFacts& row) {
             row.record.service_class = value;
             return true;
           }},
    Column{"tier", "realtime, interactive, standard, batch or nothing", take_tier},
    Column{"task", "text",
           [](std::string_view value, RowFacts& row) {
             row.record.task = value;
             if (value == "embed") row.record.work = Work::kEmbed;
             return true;
           }},
    Column{"model", "text",
           [](std::string_view value, RowFacts& row) {
             row.record.model = value;
             return true;
           }},
    Column{"session", "text",
           [](std::string_view value, RowFacts& row) {
             row.record.session = value;
             return true;
           }},
    Column{"turn", kWholeNumber,
           [](std::string_view value, RowFacts& row) {
             row.record.turn = parse_count(value);
             return row.record.turn.has_value() || value.empty();
           }},
    Column{"prefix_id", "text",
           [](std::string_view value, RowFacts& row) {
             row.prefix = value;
             return true;
           }},
    Column{"prefix_tokens", kWholeNumber,
           [](std::string_view value, RowFacts& row) { return take_count(value, row.prefix_tokens); }},
    Column{"reason_ratio", "a number",
           [](std::string_view value, RowFacts&) {
             return value.empty() || parse_decimal(value, kSecondUnit).has_value();
           }},
    Column{"queued_s", kSecondsNumber,
           [](std::string_view value, RowFacts& row) { return take_optional_time(value, row.queued); }},
    Column{"scheduled_s", kSecondsNumber,
           [](std::string_view value, RowFacts& row) { return take_optional_time(value, row.scheduled); }},
    Column{"first_token_s", kSecondsNumber,
           [](std::string_view value, RowFacts& row) { return take_optional_time(value, row.first_token); }},
    Column{"last_token_s", kSecondsNumber,
           [](std::string_view value, RowFacts& row) { return take_optional_time(value, row.last_token); }},
};

constexpr std::array kBurstGptColumns = {
    Column{"Timestamp", kArrivalNumber,
           [](std::string_view value, RowFacts& row) { return take_arrival(value, row.record.arrival); }},
    Column{"Model", "text",
           [](std::string_view value, RowFacts& row) {
             row.record.model = value;
             return true;
           }},
    Column{"Request tokens", kWholeNumber,
           [](std::string_view value, RowFacts& row) { return take_count(value, row.record.prompt_tokens); }},
    Column{"Response tokens", kWholeNumber,
           [](std::string_view value, RowFacts& row) { return take_count(value, row.record.output_tokens); }},
    Column{"Total tokens", kWholeNumber,
           [](std::string_view value, RowFacts&) { return parse_count(value).has_value(); }},
    Column{"Log Type", "text",
           [](std::string_view value, RowFacts& row) {
             row.record.task = value;
             return true;
           }},
    Column{"Session ID", "text",
           [](std::string_view value, RowFacts& row) {
             row.record.session = value;
             return true;
           }},
    Column{"Elapsed time", kSecondsNumber,
           [](std::string_view value, RowFacts& row) { return take_optional_time(value, row.record.timings.ended); }},
};

constexpr std::array kAzureColumns = {
    Column{"TIMESTAMP", "a date and time as 2023-11-16 18:17:03.9799600",
           [](std::string_view value, RowFacts& row) {
             row.record.wall_nanoseconds = parse_wall(value);
             return row.record.wall_nanoseconds.has_value();
           }},
    Column{"ContextTokens", kWholeNumber,
           [](std::string_view value, RowFacts& row) { return take_count(value, row.record.prompt_tokens); }},
    Column{"GeneratedTokens", kWholeNumber,
           [](std::string_view value, RowFacts& row) { return take_count(value, row.record.output_tokens); }},
};

class CsvParser final : public RowParser {
 public:
  CsvParser(Format format, std::vector<const Column*> columns) : format_(format), columns_(std::move(columns)) {}

  Result<Row> parse(std::string_view line) override {
    if (!row_.split(line)) return Error::invalid("", "a quotation mark is not where it may be");
    if (row_.size() != columns_.size())
      return Error::invalid("", "has " + std::to_string(row_.size()) + " values, the header has " +
                                    std::to_string(columns_.size()) + " names");
    RowFacts facts;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Column& column = *columns_[i];
      if (!column.take(row_[i], facts))
        return Error::invalid(column.name, std::string(column.name) + " is \"" + std::string(row_[i].substr(0, 64)) +
                                               "\" and must be " + column.expected);
    }
    return finish(std::move(facts));
  }

  void describe(Origin& origin) const override {
    origin.format = format_;
    origin.has_arrivals = has_column("arrival_s") || has_column("Timestamp") || has_column("TIMESTAMP");
    origin.wall_nanoseconds = first_wall_;
  }

 private:
  bool has_column(std::string_view name) const {
    return std::any_of(columns_.begin(), columns_.end(), [&](const Column* column) { return column->name == name; });
  }

  Row finish(RowFacts facts) {
    Record& record = facts.record;
    // Homes tell apart by tiers what Takt calls classes.
    if (!has_class_) record.service_class = facts.tier;
    if (record.wall_nanoseconds) {
      if (!first_wall_) first_wall_ = record.wall_nanoseconds;
      record.arrival = Duration(*record.wall_nanoseconds - *first_wall_);
    }
    // BurstGPT has a row for what failed.
    if (format_ == Format::kBurstGpt && record.prompt_tokens == 0 && record.output_tokens == 0)
      return {std::nullopt, "no tokens (a failed request)"};
    if (record.prompt_tokens == 0) return {std::nullopt, "no input tokens"};
    if (format_ == Format::kBurstGpt)
      record.outcome = record.output_tokens == 0 ? Outcome::kFailed : Outcome::kFinished;
    share_prefix(facts);
    const auto after_arrival = [&](const std::optional<Duration>& at, std::optional<Duration>& out) {
      if (at) out = *at - record.arrival;
    };
    after_arrival(facts.queued, record.timings.queued);
    after_arrival(facts.scheduled, record.timings.scheduled);
    after_arrival(facts.first_token, record.timings.first_token);
    after_arrival(facts.last_token, record.timings.last_token);
    return {std::move(record), nullptr};
  }

  // The first tokens of a prefix are the same for all who name it. Whole blocks only: less is shared than there was,
  // never more.
  static void share_prefix(RowFacts& facts) {
    constexpr std::uint32_t kPrefixBlockTokens = 16;
    if (facts.prefix.empty()) return;
    PromptBlocks& blocks = facts.record.blocks;
    blocks.block_tokens = kPrefixBlockTokens;
    const std::uint32_t shared = std::min(facts.prefix_tokens, facts.record.prompt_tokens);
    std::uint64_t hash = hash_text(facts.prefix);
    for (std::uint32_t i = 0; i < shared / kPrefixBlockTokens; ++i) {
      hash = mix(hash, i);
      blocks.hashes.push_back(hash);
    }
  }

  const Format format_;
  const std::vector<const Column*> columns_;
  const bool has_class_ = has_column("class");
  CsvRow row_;
  std::optional<std::int64_t> first_wall_;
};

template <std::size_t kCount>
Result<std::vector<const Column*>> columns_of(const CsvRow& names, const std::array<Column, kCount>& known) {
  std::vector<const Column*> columns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto* column =
        std::find_if(known.begin(), known.end(), [&](const Column& one) { return names[i] == one.name; });
    if (column == known.end())
      return Error::invalid(std::string(names[i]), "unknown column \"" + std::string(names[i]) + "\"");
    if (std::find(columns.begin(), columns.end(), column) != columns.end())
      return Error::invalid(column->name, "column \"" + std::string(column->name) + "\" is there twice");
    columns.push_back(column);
  }
  return columns;
}

Result<std::unique_ptr<RowParser>> csv_parser(Format format, Result<std::vector<const Column*>> columns,
                                              std::initializer_list<const char*> required) {
  if (!columns) return columns.error();
  for (const char* name : required) {
    if (std::none_of(columns->begin(), columns->end(),
                     [&](const Column* column) { return std::string_view(column->name) == name; }))
      return Error::invalid(name, "column \"" + std::string(name) + "\" is missing");
  }
  return std::unique_ptr<RowParser>(std::make_unique<CsvParser>(format, std::move(*columns)));
}

}  // namespace

bool names_requests(std::string_view header) {
  static constexpr std::array<std::string_view, 6> kOnlyOfRequests{
      "ContextTokens", "GeneratedTokens", "Request tokens", "Response tokens", "input_tokens", "output_tokens"};
  CsvRow names;
  if (!names.split(header)) return false;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::find(kOnlyOfRequests.begin(), kOnlyOfRequests.end(), names[i]) != kOnlyOfRequests.end()) return true;
  }
  return false;
}

Result<std::unique_ptr<RowParser>> make_csv_parser(std::string_view header) {
  CsvRow names;
  if (!names.split(header)) return Error::invalid("", "a quotation mark is not where it may be");
  const auto has = [&](std::string_view name) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return true;
    }
    return false;
  };
  if (has("ContextTokens") || has("GeneratedTokens"))
    return csv_parser(Format::kAzure, columns_of(names, kAzureColumns),
                      {"TIMESTAMP", "ContextTokens", "GeneratedTokens"});
  if (has("Request tokens") || has("Response tokens"))
    return csv_parser(Format::kBurstGpt, columns_of(names, kBurstGptColumns),
                      {"Timestamp", "Request tokens", "Response tokens"});
  if (has("input_tokens") || has("output_tokens"))
    return csv_parser(Format::kTable, columns_of(names, kPlainColumns), {"input_tokens", "output_tokens"});
  return Error::invalid("", "its columns are not those of a trace of requests");
}

}  // namespace takt::trace
