#include "trace/line_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace takt::trace {
namespace {

constexpr std::uint64_t kMostPassedBytes = std::uint64_t{1} << 30;

Error file_error(const std::string& path, int error) {
  return {ErrorCode::kIo, path + ": " + std::generic_category().message(error), {}};
}

}  // namespace

Result<LineSource> LineSource::open(std::string path, std::size_t max_line_bytes) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return file_error(path, errno);
  LineSource source(std::move(path), file, max_line_bytes);
  struct stat info {};
  if (::fstat(file, &info) != 0) return file_error(source.path_, errno);
  if (S_ISDIR(info.st_mode)) return file_error(source.path_, EISDIR);
  if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode))
    return Error{ErrorCode::kIo, source.path_ + " is a device, and neither a file nor a pipe", {}};
  return source;
}

LineSource::LineSource(LineSource&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      max_line_bytes_(other.max_line_bytes_),
      buffer_(std::move(other.buffer_)),
      begin_(other.begin_),
      at_end_(other.at_end_),
      passing_over_(other.passing_over_),
      whole_(other.whole_),
      number_(other.number_) {}

LineSource::~LineSource() {
  if (file_ >= 0) ::close(file_);
}

// More bytes behind what is there; false at the file's end.
Result<bool> LineSource::fill() {
  constexpr std::size_t kPiece = std::size_t{256} << 10;
  if (at_end_) return false;
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t size = buffer_.size();
  buffer_.resize(size + kPiece);
  ssize_t got = 0;
  do {
    got = ::read(file_, buffer_.data() + size, kPiece);
  } while (got < 0 && errno == EINTR);
  const int error = errno;
  buffer_.resize(size + (got > 0 ? static_cast<std::size_t>(got) : 0));
  if (got < 0) return file_error(path_, error);
  at_end_ = got == 0;
  return !at_end_;
}

Result<LineSource::Got> LineSource::next(std::string_view& line) {
  if (passing_over_) {
    if (const Status passed = pass_over(); !passed) return passed.error();
  }
  std::size_t searched = begin_;
  for (;;) {
    const std::size_t end = buffer_.find('\n', searched);
    const bool found = end != std::string::npos;
    const std::size_t length = (found ? end : buffer_.size()) - begin_;
    if (length > max_line_bytes_) {
      passing_over_ = !found;
      begin_ += length + (found ? 1 : 0);
      ++number_;
      return Got::kTooLong;
    }
    if (found || (at_end_ && length > 0)) {
      line = std::string_view(buffer_).substr(begin_, length);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      begin_ += length + (found ? 1 : 0);
      whole_ = found;
      ++number_;
      return Got::kLine;
    }
    if (at_end_) return Got::kEnd;
    if (auto more = fill(); !more) return more.error();
    searched = begin_ + length;
  }
}

Status LineSource::pass_over() {
  std::uint64_t passed = 0;
  for (;;) {
    const std::size_t end = buffer_.find('\n', begin_);
    const bool found = end != std::string::npos;
    passed += (found ? end : buffer_.size()) - begin_;
    begin_ = found ? end + 1 : buffer_.size();
    if (found || at_end_) break;
    if (passed > kMostPassedBytes)
      return Error::invalid("", path_ + ":" + std::to_string(number_) + ": does not end within a gigabyte");
    if (auto more = fill(); !more) return more.error();
  }
  passing_over_ = false;
  return {};
}

}  // namespace takt::trace
