// A report as JSON: the figures, and a column for each fact of the requests, so that runs can be compared later. The
// schema is docs/bench.md's.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "base/result.h"
#include "report/run_report.h"
#include "report/sections.h"

namespace takt::report {

inline constexpr std::string_view kReportSchema = "takt-bench/1";

std::string to_json(const RunReport& report);
std::string to_json(const std::vector<NamedComparison>& comparisons);

// Title, facts and requests; the verdict is judged anew from them, but for gaps other than the worst, which a report
// does not hold. Errors: kInvalidArgument: another schema, an unknown or missing column, columns of unequal length.
Result<RunReport> read_report(std::string_view text);

// A line of JSON for each request, with the instant of every arrival of tokens; the first line says what was measured.
void write_records(std::ostream& out, const RunReport& report);

}  // namespace takt::report
