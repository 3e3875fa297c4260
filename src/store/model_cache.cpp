#include "store/model_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>

#include "store/sha256.h"

namespace takt::store {
namespace {

namespace fs = std::filesystem;

Error io_error(const std::string& what, const fs::path& path) {
  return Error{ErrorCode::kIo, what + " '" + path.string() + "': " + std::strerror(errno) + ".", {}};
}

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

// What a stamp says: the checksum, and the size and modification time of the file that had it. Empty when the file
// cannot be looked at.
std::string stamp_text(const KnownModel& model, const fs::path& file) {
  std::error_code ec;
  const auto bytes = fs::file_size(file, ec);
  if (ec || bytes != model.bytes) return {};
  const auto modified = fs::last_write_time(file, ec);
  if (ec) return {};
  std::ostringstream text;
  text << model.sha256 << ' ' << bytes << ' ' << modified.time_since_epoch().count() << '\n';
  return text.str();
}

std::string read_small_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(256, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

Result<fs::path> default_model_folder() {
  // A relative XDG_CACHE_HOME is to be ignored (XDG base directory specification).
  const char* cache = environment("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return fs::path(cache) / "takt" / "models";
  if (const char* home = environment("HOME")) return fs::path(home) / ".cache" / "takt" / "models";
  return Error{ErrorCode::kNotFound, "No cache folder: neither XDG_CACHE_HOME nor HOME is set.", {}};
}

bool ModelCache::trusted(const KnownModel& model, bool rehash) const {
  const fs::path file = path_of(model);
  const std::string expected = stamp_text(model, file);
  if (expected.empty()) return false;
  if (!rehash && read_small_file(stamp_of(model)) == expected) return true;
  const auto found = sha256_of_file(file);
  if (!found || *found != model.sha256) return false;
  write_stamp(model);
  return true;
}

// A stamp that cannot be written only costs time at the next start.
void ModelCache::write_stamp(const KnownModel& model) const {
  const fs::path fresh = stamp_of(model).string() + "." + std::to_string(::getpid());
  {
    std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
    file << stamp_text(model, path_of(model));
  }
  std::error_code ec;
  fs::rename(fresh, stamp_of(model), ec);
  if (ec) fs::remove(fresh, ec);
}

Result<FileDescriptor> ModelCache::lock(const KnownModel& model, const std::function<void()>& waiting) const {
  std::error_code ec;
  fs::create_directories(folder_, ec);
  if (ec)
    return Error{
        ErrorCode::kIo, "Cannot create the model folder '" + folder_.string() + "': " + ec.message() + ".", {}};
  const fs::path path = folder_ / (model.file + ".lock");
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file.valid()) return io_error("Cannot open", path);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  waiting();
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return io_error("Cannot lock", path);
  }
  return file;
}

Result<fs::path> ModelCache::make_work_folder() const {
  std::string pattern = (folder_ / ".pull-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) return io_error("Cannot create a folder in", folder_);
  return fs::path(pattern);
}

Status ModelCache::place(const KnownModel& model, const fs::path& checked) const {
  const fs::path path = path_of(model);
  if (::rename(checked.c_str(), path.c_str()) != 0) return io_error("Cannot put the model at", path);
  const FileDescriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid()) ::fsync(folder.get());
  write_stamp(model);
  return {};
}

}  // namespace takt::store
