// What a person types, or a script pipes in: messages out of a file descriptor.
#pragma once

#include <cstddef>
#include <string>

namespace takt::app {

class LineReader {
 public:
  enum class Outcome {
    kLine,
    kInterrupted,  // by a signal; what was read of the line is still there
    kTooLong,      // a line beyond kMaxLineBytes, dropped to its end
    kFailed,       // errno has the reason
    kEnd,
  };
  static constexpr std::size_t kMaxLineBytes = 4 * 1024 * 1024;

  explicit LineReader(int fd) : fd_(fd) {}

  // The next line without its end; the last one may lack it.
  Outcome read(std::string& line);

 private:
  const int fd_;
  std::string buffer_;
  bool dropping_ = false;  // inside a line that is too long
  bool end_ = false;
};

}  // namespace takt::app
