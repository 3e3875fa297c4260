#include "line_reader.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace takt::app {

LineReader::Outcome LineReader::read(std::string& line) {
  for (;;) {
    if (const auto end = buffer_.find('\n'); end != std::string::npos) {
      line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return std::exchange(dropping_, false) ? Outcome::kTooLong : Outcome::kLine;
    }
    if (buffer_.size() > kMaxLineBytes) dropping_ = true;
    if (dropping_) buffer_.clear();
    if (end_) {
      line = std::exchange(buffer_, {});
      if (std::exchange(dropping_, false)) return Outcome::kTooLong;
      return line.empty() ? Outcome::kEnd : Outcome::kLine;
    }
    char bytes[4096];
    const ssize_t count = ::read(fd_, bytes, sizeof(bytes));
    if (count < 0) return errno == EINTR ? Outcome::kInterrupted : Outcome::kFailed;
    if (count == 0) {
      end_ = true;
    } else {
      buffer_.append(bytes, static_cast<std::size_t>(count));
    }
  }
}

}  // namespace takt::app
