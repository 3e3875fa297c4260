// Text for tables and stories in a terminal.
#pragma once

#include <cstddef>
#include <string>

namespace takt::app {

// As printf.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

// At most the first `most` characters of UTF-8 text, none of them in part.
std::string first_characters(const std::string& text, std::size_t most);
// The same, filled up with spaces.
std::string cell(const std::string& text, std::size_t width);

// "12.3 ms" or "4.56 s".
std::string duration(double seconds);

}  // namespace takt::app
