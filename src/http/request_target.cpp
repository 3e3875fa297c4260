#include "http/request_target.h"

#include <boost/algorithm/string/predicate.hpp>
#include <charconv>

namespace takt::http {
namespace {

bool is_control(unsigned char c) {
  return c < 0x20 || c == 0x7f;
}

bool percent_decode(std::string_view raw, std::string& out) {
  out.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(raw[i]);
    if (c == '%') {
      if (i + 2 >= raw.size()) return false;
      unsigned value = 0;
      const char* end = raw.data() + i + 3;
      auto [stop, error] = std::from_chars(raw.data() + i + 1, end, value, 16);
      if (error != std::errc() || stop != end) return false;
      c = static_cast<unsigned char>(value);
      i += 2;
    }
    if (is_control(c)) return false;
    out.push_back(static_cast<char>(c));
  }
  return true;
}

// What follows the authority of an absolute form; empty when it is none.
std::optional<std::string_view> after_authority(std::string_view target) {
  for (std::string_view scheme : {"http://", "https://"}) {
    if (!boost::algorithm::istarts_with(target, scheme)) continue;
    target.remove_prefix(scheme.size());
    const std::size_t end = target.find_first_of("/?");
    if (end == 0) return std::nullopt;
    return end == std::string_view::npos ? std::string_view() : target.substr(end);
  }
  return std::nullopt;
}

}  // namespace

std::optional<RequestTarget> parse_target(std::string_view target) {
  RequestTarget result;
  if (target == "*") {
    result.path = "*";
    return result;
  }
  if (target.empty() || target.find('#') != std::string_view::npos) return std::nullopt;
  if (target.front() != '/') {
    auto rest = after_authority(target);
    if (!rest) return std::nullopt;
    target = *rest;
  }
  const std::size_t mark = target.find('?');
  if (mark != std::string_view::npos) result.query = target.substr(mark + 1);
  if (!percent_decode(target.substr(0, mark), result.path)) return std::nullopt;
  if (result.path.empty()) result.path = "/";
  return result;
}

}  // namespace takt::http
