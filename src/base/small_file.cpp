#include "base/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace takt {
namespace {

class OpenedFile {
 public:
  explicit OpenedFile(int descriptor) : descriptor_(descriptor) {}
  ~OpenedFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

}  // namespace

Result<std::string> read_small_file(const std::string& path, std::size_t most, const std::string& field) {
  const auto io_error = [&](const std::string& why) { return Error{ErrorCode::kIo, path + ": " + why, field}; };
  const auto failed = [&] { return io_error(std::generic_category().message(errno)); };
  struct stat facts {};
  // Before it is opened: a pipe's writer would notice. And after: by then another file may stand there.
  if (::stat(path.c_str(), &facts) != 0) return failed();
  if (!S_ISREG(facts.st_mode)) return io_error("is not a regular file");
  const OpenedFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.descriptor() < 0 || ::fstat(file.descriptor(), &facts) != 0) return failed();
  if (!S_ISREG(facts.st_mode)) return io_error("is not a regular file");

  std::string text(most + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.descriptor(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed();
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > most) return Error::invalid(field, path + ": larger than " + std::to_string(most / 1024) + " KiB");
  text.resize(size);
  return text;
}

}  // namespace takt
