#include "api/utf8_text.h"

#include <utf8proc.h>

namespace takt::api {

namespace {

// Bytes of the character that `bytes` begins with; 0 when it begins with none.
std::size_t character_length(std::string_view bytes) {
  utf8proc_int32_t code_point = 0;
  const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(bytes.data()),
                                       static_cast<utf8proc_ssize_t>(bytes.size()), &code_point);
  return length > 0 ? static_cast<std::size_t>(length) : 0;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = character_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string to_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = character_length(bytes);
    if (length == 0) {
      text += "\xEF\xBF\xBD";
      bytes.remove_prefix(1);
    } else {
      text.append(bytes.substr(0, length));
      bytes.remove_prefix(length);
    }
  }
  return text;
}

std::string token_label(std::string_view bytes, std::string_view prefix) {
  if (is_utf8(bytes)) return std::string(bytes);
  constexpr char kDigits[] = "0123456789abcdef";
  std::string label(prefix);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    label += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return label;
}

}  // namespace takt::api
