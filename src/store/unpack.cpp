#include "store/unpack.h"

#include <fcntl.h>
#include <unistd.h>
#include <zip.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "store/file_descriptor.h"
#include "store/sha256.h"

namespace takt::store {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;

struct CloseZip {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, CloseZip>;
using Member = std::unique_ptr<zip_file_t, CloseZip>;

Error wrong(const std::filesystem::path& archive, const std::string& what) {
  return Error{ErrorCode::kInvalidArgument, "'" + archive.filename().string() + "' " + what + ".", {}};
}

Result<Archive> open_archive(const std::filesystem::path& path) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (archive != nullptr) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  Error result = wrong(path, std::string("cannot be read as a zip archive: ") + zip_error_strerror(&error));
  zip_error_fini(&error);
  return result;
}

Status write_all(int fd, const char* data, std::size_t bytes, const std::filesystem::path& path) {
  while (bytes > 0) {
    const ssize_t written = ::write(fd, data, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      return Error{ErrorCode::kIo, "Cannot write '" + path.string() + "': " + std::strerror(errno) + ".", {}};
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return {};
}

}  // namespace

Status unpack_checked(const std::filesystem::path& archive_path, const std::string& member,
                      const ExpectedFile& expected, const std::filesystem::path& destination,
                      const std::function<void(std::uint64_t)>& progress) {
  auto archive = open_archive(archive_path);
  if (!archive) return archive.error();
  const Member file(zip_fopen(archive->get(), member.c_str(), 0));
  if (file == nullptr) {
    return Error{
        ErrorCode::kNotFound, "'" + archive_path.filename().string() + "' holds no file '" + member + "'.", {}};
  }
  const FileDescriptor out(::open(destination.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!out.valid())
    return Error{ErrorCode::kIo, "Cannot create '" + destination.string() + "': " + std::strerror(errno) + ".", {}};

  Sha256 hash;
  std::vector<char> piece(kPieceBytes);
  std::uint64_t done = 0;
  while (true) {
    const zip_int64_t got = zip_fread(file.get(), piece.data(), piece.size());
    if (got < 0) return wrong(archive_path, "is damaged: " + std::string(zip_file_strerror(file.get())));
    if (got == 0) break;
    const auto bytes = static_cast<std::size_t>(got);
    done += bytes;
    if (done > expected.bytes) break;
    hash.update(piece.data(), bytes);
    if (Status written = write_all(out.get(), piece.data(), bytes, destination); !written) return written;
    if (progress) progress(done);
  }
  if (done != expected.bytes) {
    return wrong(archive_path, "holds '" + member + "' with another size than the expected " +
                                   std::to_string(expected.bytes) + " bytes");
  }
  if (const std::string found = hash.finish(); found != expected.sha256) {
    return wrong(archive_path, "holds '" + member + "' with the wrong checksum: SHA-256 is " + found + ", expected " +
                                   expected.sha256);
  }
  if (::fsync(out.get()) != 0)
    return Error{ErrorCode::kIo, "Cannot write '" + destination.string() + "': " + std::strerror(errno) + ".", {}};
  return {};
}

}  // namespace takt::store
