#include "model/gguf_cursor.h"

#include <algorithm>
#include <cstring>

#include "model/gguf_fault.h"

namespace takt {

void GgufCursor::read(std::byte* out, std::uint64_t count) {
  if (!ok()) return;
  if (count > remaining()) {
    status_ = bad_gguf_file("the file is truncated: unexpected end of file at byte " + std::to_string(source_.size()) +
                            ", inside its header");
    return;
  }
  while (count > 0) {
    if (position_ < window_start_ || position_ >= window_start_ + window_.size()) {
      window_.resize(std::min<std::uint64_t>(kWindow, remaining()));
      window_start_ = position_;
      status_ = source_.read(window_start_, window_);
      if (!ok()) return;
    }
    const std::uint64_t in_window = position_ - window_start_;
    const std::uint64_t take = std::min<std::uint64_t>(count, window_.size() - in_window);
    std::memcpy(out, window_.data() + in_window, take);
    out += take;
    position_ += take;
    count -= take;
  }
}

Result<std::string> GgufCursor::string(std::uint64_t limit, const std::string& what) {
  const auto length = number<std::uint64_t>();
  if (!ok()) return error();
  if (length > limit || length > remaining()) {
    const bool cut = length <= limit;
    return bad_gguf_file(what + " claims a string length of " + std::to_string(length) + " bytes; " +
                         (cut ? "the file is truncated or lies: it has " + std::to_string(remaining()) + " left"
                              : "the limit is " + std::to_string(limit)));
  }
  std::string text(length, '\0');
  read(reinterpret_cast<std::byte*>(text.data()), length);
  if (!ok()) return error();
  return text;
}

}  // namespace takt
