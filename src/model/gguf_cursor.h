// Reads the header of a GGUF file: numbers and strings, front to back.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/byte_source.h"

namespace takt {

static_assert(std::endian::native == std::endian::little, "GGUF values are read as they lie in the file");

// Reads forward through the header in windows. After an error every read gives zeros and the error stays.
class GgufCursor {
 public:
  explicit GgufCursor(const ByteSource& source) : source_(source) {}

  std::uint64_t position() const { return position_; }
  std::uint64_t remaining() const { return source_.size() - position_; }
  bool ok() const { return status_.ok(); }
  const Error& error() const { return status_.error(); }

  void read(std::byte* out, std::uint64_t count);

  template <typename T>
  T number() {
    std::array<std::byte, sizeof(T)> bytes{};
    read(bytes.data(), bytes.size());
    return std::bit_cast<T>(bytes);
  }

  // A length and its bytes. `what` names the string in messages.
  Result<std::string> string(std::uint64_t limit, const std::string& what);

 private:
  static constexpr std::uint64_t kWindow = 256U << 10U;

  const ByteSource& source_;
  std::uint64_t position_ = 0;
  std::uint64_t window_start_ = 0;
  std::vector<std::byte> window_;
  Status status_;
};

}  // namespace takt
