// What one line of a trace says, by format.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "trace/reader.h"
#include "trace/record.h"

namespace takt::trace {

struct Row {
  std::optional<Record> record;
  const char* dropped = nullptr;  // why it is well formed and no record
};

class RowParser {
 public:
  virtual ~RowParser() = default;
  // Errors: kInvalidArgument with the reason and the value's name, without the line's place. Lines after it can be
  // parsed.
  virtual Result<Row> parse(std::string_view line) = 0;
  // What the lines so far say of all of them.
  virtual void describe(Origin& origin) const = 0;
};

struct FormatChoice {
  std::unique_ptr<RowParser> parser;
  bool header = false;    // the first line is none of a request
  bool may_tear = false;  // a last line without a line break was cut off by a crash
};
// By the first line that is not blank. Errors: kInvalidArgument: no format begins so.
Result<FormatChoice> choose_format(std::string_view first_line);

// By format. Errors: kInvalidArgument.
std::unique_ptr<RowParser> make_mooncake_parser();
Result<std::unique_ptr<RowParser>> make_csv_parser(std::string_view header);
Result<std::unique_ptr<RowParser>> make_takt_parser(std::string_view header);

// Whether a table's header has a column that only tables of requests have: then it is no other table, whatever is
// wrong.
bool names_requests(std::string_view header);

}  // namespace takt::trace
