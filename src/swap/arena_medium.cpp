#include "swap/arena_medium.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/log.h"

namespace takt {

namespace {

Error arena_error(const std::string& what, int number) {
  return {ErrorCode::kIo, what + ": " + std::generic_category().message(number), "kv.swap_path"};
}

class FileArena final : public ArenaMedium {
 public:
  FileArena(int fd, bool direct, std::string directory) : fd_(fd), direct_(direct), directory_(std::move(directory)) {}
  ~FileArena() override { ::close(fd_); }
  FileArena(const FileArena&) = delete;
  FileArena& operator=(const FileArena&) = delete;

  Status write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t done = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0)
        return arena_error("the swap file in " + directory_ + " could not be written", done < 0 ? errno : EIO);
      bytes = bytes.subspan(static_cast<std::size_t>(done));
      offset += static_cast<std::uint64_t>(done);
    }
    return {};
  }

  Status read(std::uint64_t offset, std::span<std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t done = ::pread(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0)
        return arena_error("the swap file in " + directory_ + " could not be read", done < 0 ? errno : EIO);
      bytes = bytes.subspan(static_cast<std::size_t>(done));
      offset += static_cast<std::uint64_t>(done);
    }
    return {};
  }

  std::string description() const override {
    return "a file in " + directory_ + (direct_ ? ", direct I/O" : ", through the page cache");
  }

 private:
  const int fd_;
  const bool direct_;
  const std::string directory_;
};

class MemoryArena final : public ArenaMedium {
 public:
  explicit MemoryArena(MappedBytes bytes) : bytes_(std::move(bytes)) {}

  Status write(std::uint64_t offset, std::span<const std::byte> bytes) override {
    std::memcpy(bytes_.data + offset, bytes.data(), bytes.size());
    return {};
  }
  Status read(std::uint64_t offset, std::span<std::byte> bytes) override {
    std::memcpy(bytes.data(), bytes_.data + offset, bytes.size());
    return {};
  }
  std::string description() const override { return "memory"; }

 private:
  MappedBytes bytes_;
};

// A descriptor of a new file without a name; -1 with errno.
int open_unnamed(const std::string& directory, int flags) {
  const int fd = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return fd;
  // File systems without unnamed files: one with a name of its own, which is taken away at once.
  std::string name = directory + "/takt-swap-XXXXXX";
  const int named = ::mkostemp(name.data(), O_CLOEXEC | flags);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

}  // namespace

MappedBytes::MappedBytes(std::size_t wanted) {
  void* memory = ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) return;
  data = static_cast<std::byte*>(memory);
  size = wanted;
}

MappedBytes::~MappedBytes() {
  if (data != nullptr) ::munmap(data, size);
}

MappedBytes::MappedBytes(MappedBytes&& other) noexcept
    : data(std::exchange(other.data, nullptr)), size(std::exchange(other.size, 0)) {}

MappedBytes& MappedBytes::operator=(MappedBytes&& other) noexcept {
  std::swap(data, other.data);
  std::swap(size, other.size);
  return *this;
}

Result<std::unique_ptr<ArenaMedium>> make_file_arena(const std::string& directory, std::size_t bytes) {
  int fd = open_unnamed(directory, O_DIRECT);
  const bool direct = fd >= 0;
  if (!direct && errno == EINVAL) {
    fd = open_unnamed(directory, 0);
    if (fd >= 0)
      spdlog::warn("the file system of {} takes no direct I/O: what is swapped goes through the page cache", directory);
  }
  if (fd < 0) return arena_error("no swap file can be made in " + directory, errno);
  auto arena = std::make_unique<FileArena>(fd, direct, directory);
  const std::string no_room = "no room for a swap file of " + std::to_string(bytes) + " bytes in " + directory;
  // Asked first, so that a wish far too large does not fill the disk for a moment.
  struct statvfs disk {};
  if (::fstatvfs(fd, &disk) == 0 && bytes / disk.f_frsize > disk.f_bavail) return arena_error(no_room, ENOSPC);
  // The blocks are taken now: a disk that is full says so here and not while somebody's answer waits.
  if (const int failed = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes)); failed != 0)
    return arena_error(no_room, failed);
  return std::unique_ptr<ArenaMedium>(std::move(arena));
}

Result<std::unique_ptr<ArenaMedium>> make_memory_arena(std::size_t bytes) {
  MappedBytes memory(bytes);
  if (memory.data == nullptr) {
    return Error{ErrorCode::kResourceExhausted, "no memory for a swap arena of " + std::to_string(bytes) + " bytes",
                 "kv.swap_bytes"};
  }
  return std::unique_ptr<ArenaMedium>(std::make_unique<MemoryArena>(std::move(memory)));
}

}  // namespace takt
