// Text for tables and stories in a terminal.
#pragma once

#include <string>

namespace takt::app {

// As printf; at most 255 bytes of it.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

// "12.3 ms" or "4.56 s".
std::string duration(double seconds);

}  // namespace takt::app
