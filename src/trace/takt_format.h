// The project's own trace: lines of JSON, each with a checksum of itself, behind a head that says what they are
// (docs/trace.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/reader.h"
#include "trace/record.h"

namespace takt::trace {

inline constexpr int kTaktTraceVersion = 1;
// How a head begins, whatever its version.
inline constexpr std::string_view kTaktTraceBeginning = R"({"format":"takt-trace")";

struct TaktTraceHead {
  std::optional<std::int64_t> wall_nanoseconds;  // since 1970, of arrival 0
  std::uint64_t run = 0;                         // segments of one run of a server share it and one clock
  std::uint64_t part = 0;                        // of the run, from 0
  bool has_arrivals = true;
  bool checked = true;  // lines carry checksums; a file that a person edits may say false
  std::string server;
  std::string configuration;  // JSON, or empty
};

// Lines with their line breaks.
std::string head_line(const TaktTraceHead& head);
void append_record_line(std::string& out, const Record& record);

// Errors: kInvalidArgument: another format or version, a wrong checksum.
Result<TaktTraceHead> parse_head_line(std::string_view line);

}  // namespace takt::trace
