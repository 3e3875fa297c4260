#include "base/small_file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace takt {

Result<std::string> read_small_file(const std::string& path, std::size_t most, const std::string& field) {
  const auto io_error = [&](const std::string& why) { return Error{ErrorCode::kIo, path + ": " + why, field}; };
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (!std::filesystem::exists(status))
    return io_error(std::generic_category().message(failed ? failed.value() : ENOENT));
  if (!std::filesystem::is_regular_file(status)) return io_error("is not a regular file");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(most + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (!file && file.gcount() == 0 && errno != 0))
    return io_error(std::generic_category().message(errno));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > most) return Error::invalid(field, path + ": larger than " + std::to_string(most / 1024) + " KiB");
  return text;
}

}  // namespace takt
