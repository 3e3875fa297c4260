#include "table_text.h"

#include <array>
#include <cstdarg>
#include <cstdio>

namespace takt::app {

std::string format(const char* pattern, ...) {
  std::array<char, 256> line{};
  std::va_list values;
  va_start(values, pattern);
  std::vsnprintf(line.data(), line.size(), pattern, values);
  va_end(values);
  return line.data();
}

std::string duration(double seconds) {
  return seconds < 1.0 ? format("%.1f ms", seconds * 1e3) : format("%.2f s", seconds);
}

}  // namespace takt::app
