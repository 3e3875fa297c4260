// A bound on what a TOML reader recurses into.
#pragma once

#include <cstddef>
#include <string_view>

namespace takt {

// The TOML library recurses once for each part of a dotted key, without a bound of its own (of nested values it has
// one); a key never goes on behind the end of its line.
inline constexpr std::size_t kMostDotsOfALine = 64;

// Number of the first line, from 1, that has more dots, comment lines left out; 0: there is none.
std::size_t line_with_too_many_dots(std::string_view toml);

}  // namespace takt
