// The segments of a capture: files that only grow, closed by size and by day, deleted when they are old.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/options.h"
#include "trace/takt_format.h"

namespace takt::trace {

// Nanoseconds since 1970.
using WallClock = std::function<std::int64_t()>;
std::int64_t system_wall_nanoseconds();

// For one thread. A file is named capture-RUN-PART.jsonl; only files of such names that begin as a capture does are
// ever deleted.
class Segments {
 public:
  Segments(const CaptureOptions& options, const TaktTraceHead& head, WallClock wall);
  ~Segments();
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;

  void describe(std::string configuration) { head_.configuration = std::move(configuration); }

  // Appends whole lines, to a new segment where it is time for one. When not all can be written, nothing of them stays.
  // Errors: kIo.
  Status append(std::string_view lines);
  // What was appended survives a loss of power from here on. Errors: kIo.
  Status sync();

 private:
  Status begin_segment(std::int64_t day);
  Status write(std::string_view text);
  void close();
  void delete_old() const;

  const CaptureOptions options_;
  TaktTraceHead head_;
  const WallClock wall_;
  std::string path_;
  int file_ = -1;
  std::uint64_t size_ = 0;
  std::int64_t day_ = 0;
};

}  // namespace takt::trace
