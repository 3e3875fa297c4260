// Bytes that may be anything -> text that may go into JSON.
#pragma once

#include <string>
#include <string_view>

namespace takt::api {

bool is_utf8(std::string_view bytes);
// Every byte that is not part of a character becomes U+FFFD.
std::string to_utf8(std::string_view bytes);
// The bytes as they are when they are text, otherwise `prefix` and \xNN for every byte.
std::string token_label(std::string_view bytes, std::string_view prefix);

}  // namespace takt::api
