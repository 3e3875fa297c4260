#include "base/dotted_keys.h"

#include <algorithm>

namespace takt {

std::size_t line_with_too_many_dots(std::string_view toml) {
  for (std::size_t number = 1; !toml.empty(); ++number) {
    const std::string_view line = toml.substr(0, toml.find('\n'));
    toml.remove_prefix(std::min(line.size() + 1, toml.size()));
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos || line[begin] == '#') continue;
    if (static_cast<std::size_t>(std::count(line.begin(), line.end(), '.')) > kMostDotsOfALine) return number;
  }
  return 0;
}

}  // namespace takt
