#include "base/guarded_toml.h"

#include <algorithm>
#include <utility>

namespace takt {
namespace {

// Counted from 1; 0: there is none.
std::size_t line_with_too_many_dots(std::string_view text) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos || line[begin] == '#') continue;
    if (static_cast<std::size_t>(std::count(line.begin(), line.end(), '.')) > kMostDotsOfATomlLine) return number;
  }
  return 0;
}

}  // namespace

Result<toml::table> parse_guarded_toml(std::string_view text, const std::string& name, const std::string& field) {
  const auto wrong = [&](std::size_t line, std::string what) {
    return Error::invalid(field, name + ":" + std::to_string(line) + ": " + std::move(what));
  };
  if (const std::size_t line = line_with_too_many_dots(text); line != 0)
    return wrong(line, "more than " + std::to_string(kMostDotsOfATomlLine) + " dots in a line");
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    return wrong(error.source().begin.line, std::string(error.description()));
  }
}

}  // namespace takt
