#include "model/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace takt {
namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(int descriptor, std::uint64_t size, std::string path)
      : descriptor_(descriptor), size_(size), path_(std::move(path)) {}
  ~FileSource() override { ::close(descriptor_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  std::uint64_t size() const override { return size_; }

  Status read(std::uint64_t offset, std::span<std::byte> out) const override {
    std::size_t done = 0;
    while (done < out.size()) {
      const ssize_t got = ::pread(descriptor_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
      if (got > 0) {
        done += static_cast<std::size_t>(got);
      } else if (got == 0) {
        return Error{ErrorCode::kIo,
                     path_ + ": unexpected end of file at byte " + std::to_string(offset + done) + " (it had " +
                         std::to_string(size_) + " bytes when it was opened)",
                     {}};
      } else if (errno != EINTR) {
        return Error{ErrorCode::kIo, path_ + ": " + std::strerror(errno), {}};
      }
    }
    return {};
  }

 private:
  int descriptor_;
  std::uint64_t size_;
  std::string path_;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Status read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) {
      return Error{ErrorCode::kIo, "unexpected end of data at byte " + std::to_string(bytes_.size()), {}};
    }
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return {};
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

Result<std::shared_ptr<const ByteSource>> open_file(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
    return Error{code, path.string() + ": " + std::strerror(errno), {}};
  }
  struct stat info {};
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(descriptor);
    return Error{ErrorCode::kIo, path.string() + ": not a regular file", {}};
  }
  return std::shared_ptr<const ByteSource>(
      std::make_shared<FileSource>(descriptor, static_cast<std::uint64_t>(info.st_size), path.string()));
}

std::shared_ptr<const ByteSource> memory_source(std::span<const std::byte> bytes) {
  return std::make_shared<MemorySource>(bytes);
}

}  // namespace takt
