// Reads traces of every known format, record by record, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "trace/record.h"

namespace takt::trace {

// Told from a file's beginning, never from its name.
enum class Format : std::uint8_t {
  kTakt,      // our own: docs/trace.md
  kMooncake,  // JSON lines: timestamp [ms], input_length, output_length, hash_ids
  kAzure,     // CSV: TIMESTAMP, ContextTokens, GeneratedTokens (2023 and 2024)
  kBurstGpt,  // CSV: Timestamp [s], Model, Request tokens, Response tokens, ... (1, 2 and 3)
  kTable,     // CSV: input_tokens, output_tokens and any of the other columns of docs/trace.md
};
const char* to_string(Format format);

enum class OnMalformed : std::uint8_t { kRefuse, kSkip };

struct ReadOptions {
  OnMalformed on_malformed = OnMalformed::kRefuse;
  std::size_t max_line_bytes = std::size_t{16} << 20;
};

// rows == records + malformed + the sum of `dropped`, at any moment.
struct ReadCounts {
  std::uint64_t rows = 0;                        // lines that should hold a request; no headers, no blank lines
  std::uint64_t records = 0;                     // that next() gave
  std::uint64_t malformed = 0;                   // skipped
  std::map<std::string, std::uint64_t> dropped;  // well formed and no request, by reason
  std::uint64_t out_of_order = 0;                // records that arrived before the one before them
  std::string first_malformed;                   // FILE:LINE: why
};

// What holds for all of a trace.
struct Origin {
  Format format = Format::kTable;
  std::string file;
  bool has_arrivals = true;                      // false: lengths only
  std::optional<std::int64_t> wall_nanoseconds;  // since 1970, of arrival 0
  std::string server;                            // name and version of what was captured
  std::string configuration;                     // its effective settings, as JSON; may be empty
};

class Reader {
 public:
  virtual ~Reader() = default;

  // The next record, in the file's order; empty at the end. Errors: kInvalidArgument with FILE:LINE and the reason
  // (only where malformed lines are refused; nothing more can be read then), kIo.
  virtual Result<std::optional<Record>> next() = 0;
  virtual const Origin& origin() const = 0;
  virtual const ReadCounts& counts() const = 0;
};

// `path`: a file, or a folder of captured segments, which are read in the order of their time. Errors: kIo,
// kInvalidArgument: no known format.
Result<std::unique_ptr<Reader>> open_trace(const std::string& path, const ReadOptions& options = {});

}  // namespace takt::trace
