#include "trace/segments.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/log.h"
#include "trace/line_source.h"

namespace takt::trace {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kNanosecondsOfADay = 86'400'000'000'000;
constexpr std::int64_t kNanosecondsOfASecond = 1'000'000'000;

Error segment_error(const std::string& path) {
  return {ErrorCode::kIo, path + ": " + std::generic_category().message(errno), "capture"};
}

struct OldSegment {
  fs::path path;
  std::uint64_t bytes = 0;
  std::int64_t written = 0;  // nanoseconds since 1970
};

bool is_segment(const fs::path& path) {
  const std::string name = path.filename().string();
  if (!name.starts_with("capture-") || !name.ends_with(".jsonl")) return false;
  auto lines = LineSource::open(path.string(), std::size_t{1} << 20);
  if (!lines) return false;
  std::string_view line;
  const auto got = lines->next(line);
  return got && *got == LineSource::Got::kLine && line.starts_with(kTaktTraceBeginning);
}

// The oldest first.
std::vector<OldSegment> segments_of(const std::string& folder) {
  std::vector<OldSegment> found;
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure)) {
    struct stat info {};
    if (::stat(entry->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode) || !is_segment(entry->path())) continue;
    found.push_back({entry->path(), static_cast<std::uint64_t>(info.st_size),
                     info.st_mtim.tv_sec * kNanosecondsOfASecond + info.st_mtim.tv_nsec});
  }
  std::sort(found.begin(), found.end(), [](const OldSegment& a, const OldSegment& b) {
    return std::pair(a.written, a.path) < std::pair(b.written, b.path);
  });
  return found;
}

}  // namespace

std::int64_t system_wall_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Segments::Segments(const CaptureOptions& options, const TaktTraceHead& head, WallClock wall)
    : options_(options), head_(head), wall_(std::move(wall)) {
  delete_old();
}

Segments::~Segments() {
  close();
}

void Segments::close() {
  if (file_ < 0) return;
  ::fdatasync(file_);
  ::close(std::exchange(file_, -1));
}

Status Segments::append(std::string_view lines) {
  const std::int64_t day = wall_() / kNanosecondsOfADay;
  if (file_ >= 0 && (size_ >= options_.segment_bytes || day != day_)) close();
  if (file_ < 0) {
    if (const Status begun = begin_segment(day); !begun) return begun;
  }
  return write(lines);
}

Status Segments::sync() {
  if (file_ >= 0 && ::fdatasync(file_) != 0) return segment_error(path_);
  return {};
}

Status Segments::begin_segment(std::int64_t day) {
  constexpr mode_t kOwnerOnly = 0600;
  std::array<char, 80> name{};
  std::snprintf(name.data(), name.size(), "capture-%llu-%06llu.jsonl", static_cast<unsigned long long>(head_.run),
                static_cast<unsigned long long>(head_.part));
  path_ = (fs::path(options_.folder) / name.data()).string();
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, kOwnerOnly);
  if (file_ < 0) return segment_error(path_);
  size_ = 0;
  day_ = day;
  if (const Status written = write(head_line(head_)); !written) {
    // It would be no segment without its head.
    ::close(std::exchange(file_, -1));
    ::unlink(path_.c_str());
    return written;
  }
  ++head_.part;
  delete_old();
  return {};
}

Status Segments::write(std::string_view text) {
  const std::uint64_t before = size_;
  while (!text.empty()) {
    const ssize_t written = ::write(file_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const Error error = segment_error(path_);
      if (::ftruncate(file_, static_cast<off_t>(before)) == 0) size_ = before;
      return error;
    }
    size_ += static_cast<std::uint64_t>(written);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

void Segments::delete_old() const {
  const std::int64_t oldest = wall_() - static_cast<std::int64_t>(options_.days) * kNanosecondsOfADay;
  const std::vector<OldSegment> segments = segments_of(options_.folder);
  std::uint64_t bytes = 0;
  for (const OldSegment& segment : segments) bytes += segment.bytes;
  for (const OldSegment& segment : segments) {
    if (segment.path == path_) continue;
    if (segment.written >= oldest && bytes <= options_.total_bytes) continue;
    std::error_code failure;
    if (fs::remove(segment.path, failure)) {
      bytes -= segment.bytes;
    } else if (failure) {
      spdlog::warn("capture: {} cannot be deleted: {}", segment.path.string(), failure.message());
    }
  }
}

}  // namespace takt::trace
