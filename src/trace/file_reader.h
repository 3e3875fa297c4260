// Reads one file of a trace.
#pragma once

#include <memory>
#include <string>

#include "trace/line_source.h"
#include "trace/reader.h"
#include "trace/row_parser.h"

namespace takt::trace {

class FileReader final : public Reader {
 public:
  // Errors: as open_trace.
  static Result<std::unique_ptr<FileReader>> open(const std::string& path, const ReadOptions& options);

  Result<std::optional<Record>> next() override;
  const Origin& origin() const override { return origin_; }
  const ReadCounts& counts() const override { return counts_; }

 private:
  FileReader(LineSource lines, const ReadOptions& options) : lines_(std::move(lines)), options_(options) {}
  Status begin();
  Result<std::optional<Record>> read_record();
  Result<std::optional<Record>> read_row(std::string_view line);
  Result<std::optional<Record>> malformed(const Error& error);
  std::string at_line(const std::string& message) const;
  std::string too_long() const;

  LineSource lines_;
  const ReadOptions options_;
  FormatChoice format_;
  Origin origin_;
  ReadCounts counts_;
  std::optional<Record> ahead_;  // read to learn the origin
  bool ended_ = false;
  std::optional<Duration> last_arrival_;
};

}  // namespace takt::trace
