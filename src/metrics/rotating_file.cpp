#include "metrics/rotating_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace takt::metrics {

Result<RotatingFile> RotatingFile::open(std::string path, std::size_t files, std::string_view beginning) {
  RotatingFile file(std::move(path), files);
  struct stat info {};
  const bool exists = ::stat(file.path_.c_str(), &info) == 0;
  file.regular_ = !exists || S_ISREG(info.st_mode);
  if (exists && ::access(file.path_.c_str(), W_OK) != 0) return file.io_error(errno);
  if (exists && file.regular_) {
    if (const Status ours = file.check_ours(beginning); !ours) return ours.error();
    file.put_aside();
  }
  if (const Status created = file.create(); !created) return created.error();
  return file;
}

RotatingFile::RotatingFile(RotatingFile&& other) noexcept
    : path_(std::move(other.path_)),
      files_(other.files_),
      file_(std::exchange(other.file_, -1)),
      regular_(other.regular_) {}

RotatingFile::~RotatingFile() {
  if (file_ >= 0) ::close(file_);
}

Status RotatingFile::create() {
  constexpr mode_t kOwnerOnly = 0600;
  const int fresh = regular_ ? O_CREAT | O_TRUNC : 0;
  file_ = ::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | fresh, kOwnerOnly);
  if (file_ >= 0) {
    if (regular_) ::flock(file_, LOCK_EX | LOCK_NB);  // whoever looks finds it taken
    return {};
  }
  if (errno == ENXIO) return Error{ErrorCode::kIo, "step log " + path_ + ": nobody reads it", "step_log"};
  return io_error(errno);
}

// What is there would be moved away and in the end overwritten.
Status RotatingFile::check_ours(std::string_view beginning) const {
  const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return io_error(errno);
  std::string text(beginning.size(), '\0');
  const ssize_t read = ::pread(fd, text.data(), text.size(), 0);
  const bool taken = ::flock(fd, LOCK_EX | LOCK_NB) != 0;
  ::close(fd);
  if (read < 0) return io_error(errno);
  if (taken) return Error{ErrorCode::kIo, "step log " + path_ + ": another process writes to it", "step_log"};
  if (read > 0 && text != beginning)
    return Error{ErrorCode::kIo, "step log " + path_ + ": is there already and is no step log", "step_log"};
  return {};
}

// What is too old is overwritten. A file that cannot be moved is emptied when the new one is made.
void RotatingFile::put_aside() const {
  const auto name = [this](std::size_t age) { return age == 0 ? path_ : path_ + "." + std::to_string(age); };
  for (std::size_t age = files_ - 1; age > 0; --age) std::rename(name(age - 1).c_str(), name(age).c_str());
}

Status RotatingFile::rotate() {
  if (!regular_) return {};
  ::close(std::exchange(file_, -1));
  put_aside();
  return create();
}

Result<bool> RotatingFile::write(std::string_view& text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      return false;
    } else if (errno != EINTR) {
      return io_error(errno);
    }
  }
  return true;
}

void RotatingFile::wait() const {
  constexpr int kMilliseconds = 100;
  pollfd ready{file_, POLLOUT, 0};
  ::poll(&ready, 1, kMilliseconds);
}

Error RotatingFile::io_error(int error) const {
  return {ErrorCode::kIo, "step log " + path_ + ": " + std::generic_category().message(error), "step_log"};
}

}  // namespace takt::metrics
