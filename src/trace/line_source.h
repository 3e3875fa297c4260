// A file's lines, one at a time, in memory that does not grow with the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace takt::trace {

class LineSource {
 public:
  // A file or a pipe. Errors: kIo with the path and the system's words; a folder is one, and a device, which has no
  // end.
  static Result<LineSource> open(std::string path, std::size_t max_line_bytes);
  ~LineSource();
  LineSource(LineSource&& other) noexcept;
  LineSource& operator=(LineSource&&) = delete;
  LineSource(const LineSource&) = delete;
  LineSource& operator=(const LineSource&) = delete;

  enum class Got : std::uint8_t {
    kLine,
    kTooLong,  // above the limit; told as soon as that is known, and passed over by the next call
    kEnd,
  };
  // `line`: without its line break (LF or CR LF), valid until the next call. Errors: kIo; kInvalidArgument: a line that
  // is passed over does not end within a gigabyte.
  Result<Got> next(std::string_view& line);
  // Of the last line, from 1.
  std::uint64_t number() const { return number_; }
  // The last kLine ended with a line break. False only for the last one of a file.
  bool whole() const { return whole_; }
  const std::string& path() const { return path_; }

 private:
  LineSource(std::string path, int file, std::size_t max_line_bytes)
      : path_(std::move(path)), file_(file), max_line_bytes_(max_line_bytes) {}
  Result<bool> fill();
  Status pass_over();

  std::string path_;
  int file_;
  std::size_t max_line_bytes_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what is not given yet
  bool at_end_ = false;
  bool passing_over_ = false;  // what is left of a line that was too long
  bool whole_ = true;
  std::uint64_t number_ = 0;
};

}  // namespace takt::trace
