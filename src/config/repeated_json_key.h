// Names that stand twice in one JSON object, of which readers keep the last one silently.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace takt::config {

// The dotted path of the first such name, entries of lists counted from 1: "route.2.class". Empty: there is none, or
// the text is no JSON of at most `max_depth` levels.
std::string repeated_json_key(std::string_view text, std::size_t max_depth);

}  // namespace takt::config
