// A file that is put aside when it has grown enough: PATH is the newest, PATH.1 the one before, and so on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace takt::metrics {

// Writing waits neither for a reader of a FIFO nor for ever: see write().
class RotatingFile {
 public:
  // Puts a file of that name aside and creates a new one, for its owner only. What is no regular file (a FIFO, a
  // device) is written to as it is and never put aside. `files`: that are kept, the newest counts. Errors: kIo with the
  // path and the system's words; a FIFO that nobody reads is one, and so are a file that does not begin with
  // `beginning` and is not empty, and one that another process writes to.
  static Result<RotatingFile> open(std::string path, std::size_t files, std::string_view beginning);
  ~RotatingFile();
  RotatingFile(RotatingFile&& other) noexcept;
  RotatingFile& operator=(RotatingFile&&) = delete;
  RotatingFile(const RotatingFile&) = delete;
  RotatingFile& operator=(const RotatingFile&) = delete;

  bool rotates() const { return regular_; }
  // Begins a new file. Errors: kIo.
  Status rotate();
  // Writes what the file takes at once, from `text` on; removes it there. True when all is written. Errors: kIo.
  Result<bool> write(std::string_view& text);
  // Waits until it takes more, at most for a tenth of a second.
  void wait() const;

 private:
  RotatingFile(std::string path, std::size_t files) : path_(std::move(path)), files_(files) {}
  Status create();
  Status check_ours(std::string_view beginning) const;
  void put_aside() const;
  Error io_error(int error) const;

  std::string path_;
  std::size_t files_;
  int file_ = -1;
  bool regular_ = true;
};

}  // namespace takt::metrics
