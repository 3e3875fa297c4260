// Reads a step log back, record by record.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "metrics/step_records.h"

namespace takt::metrics {

// Limits of what a log may hold: a file is any bytes.
inline constexpr std::size_t kMaxStepLineBytes = std::size_t{4} << 20;

class StepLogReader {
 public:
  // `path`: the newest file; the older ones of the same run beside it (PATH.1, PATH.2, ...) come first. Errors: kIo (it
  // is no regular file or cannot be read), kInvalidArgument (it is no step log, or of another version).
  static Result<StepLogReader> open(const std::string& path);

  const std::vector<std::string>& models() const { return models_; }
  // Nothing before the first record is missing.
  bool from_the_start() const { return first_part_ == 0; }

  // The next record; empty at the end. A last line that was cut off counts as the end. Errors: kInvalidArgument with
  // FILE:LINE, after which nothing more can be read.
  Result<std::optional<StepRecord>> next();

 private:
  struct Head {
    std::int64_t run = 0;
    std::uint64_t part = 0;
    std::vector<std::string> models;
  };
  static Result<Head> read_head(const std::string& path);
  bool open_next_file();
  Error at_line(const std::string& message) const;

  std::vector<std::string> models_;
  std::uint64_t first_part_ = 0;
  std::vector<std::string> files_;  // that are still to be read, the next one last
  std::string file_;
  std::ifstream in_;
  std::uint64_t line_ = 0;
  std::map<std::uint32_t, TapeState> states_;  // by model
};

}  // namespace takt::metrics
