// TOML that people wrote, parsed within bounds.
#pragma once

#include <toml++/toml.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace takt {

// Of a file of settings.
inline constexpr std::size_t kMostTomlBytes = std::size_t{1024} * 1024;

// The library recurses once for each part of a dotted key, without a bound of its own (of nested values it has one); a
// key never goes on behind the end of its line.
inline constexpr std::size_t kMostDotsOfATomlLine = 64;

// `name` stands before messages, with the line: "takt.toml:7: ...". Errors: kInvalidArgument, `field` as given: it is
// no TOML, or it has a line with more dots, comment lines left out.
Result<toml::table> parse_guarded_toml(std::string_view text, const std::string& name, const std::string& field);

}  // namespace takt
