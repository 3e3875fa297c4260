#include "table_text.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace takt::app {

std::string format(const char* pattern, ...) {
  std::va_list values;
  std::va_list again;
  va_start(values, pattern);
  va_copy(again, values);
  const int length = std::vsnprintf(nullptr, 0, pattern, values);
  va_end(values);
  std::string text(length > 0 ? static_cast<std::size_t>(length) : 0, ' ');
  std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

std::string first_characters(const std::string& text, std::size_t most) {
  std::size_t characters = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins_one = (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
    if (begins_one && ++characters > most) return text.substr(0, at);
  }
  return text;
}

std::string cell(const std::string& text, std::size_t width) {
  std::string filled = first_characters(text, width);
  const auto characters = static_cast<std::size_t>(std::count_if(
      filled.begin(), filled.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
  return filled + std::string(width - std::min(width, characters), ' ');
}

std::string duration(double seconds) {
  return seconds < 1.0 ? format("%.1f ms", seconds * 1e3) : format("%.2f s", seconds);
}

}  // namespace takt::app
